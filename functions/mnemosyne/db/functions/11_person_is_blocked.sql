-- Whether the operator has blocked a person.
--   p_subject    the person's subject at the identity provider
--   p_addresses  the person's e-mail addresses
--
-- The table oauth_blocked_people has one row for each block. A block names a subject or an e-mail address, in the
-- column `who`. A block applies to the person in three cases:
--   * The block names the person's subject.
--   * The block names one of the person's addresses. Upper and lower case are not distinguished.
--   * The block names an earlier address of the person. When an address is blocked, the column `subjects` stores the
--     subjects of all people with this address who have given an OAuth grant. So a person whose address changes stays
--     blocked.
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

-- Whether the operator has blocked the OAuth client with the id p_client_id.
CREATE OR REPLACE FUNCTION client_is_blocked(p_client_id text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM oauth_blocked_clients b WHERE b.client_id = p_client_id);
END;

GRANT EXECUTE ON FUNCTION person_is_blocked(text, text[]), client_is_blocked(text) TO mnemosyne_auth;
