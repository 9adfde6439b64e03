-- Whether the operator has blocked a person. p_subject is the subject of the person, and p_addresses are the person's
-- addresses. The table oauth_blocked_people has the blocks.
--
-- A person is blocked if one of three conditions is true: the block names the subject; the block names one of the
-- addresses, in upper or lower case; or the block names an address, and a grant with this address had the subject when
-- the address was blocked.
CREATE OR REPLACE FUNCTION person_is_blocked(p_subject text, p_addresses text[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM oauth_blocked_people b
        WHERE b.who = p_subject OR p_subject = ANY (b.subjects)
            OR (strpos(b.who, '@') > 0
                AND lower(b.who) IN (SELECT lower(a) FROM unnest(p_addresses || p_subject) AS a))
    );
END;

-- Whether the operator has blocked the OAuth client.
CREATE OR REPLACE FUNCTION client_is_blocked(p_client_id text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM oauth_blocked_clients b WHERE b.client_id = p_client_id);
END;
