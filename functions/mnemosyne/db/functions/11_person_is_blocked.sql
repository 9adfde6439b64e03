-- Whether the operator has blocked a person. A block applies to the person's subject, to each of the person's
-- addresses, and to the subjects of grants that had the address when it was blocked. Addresses are compared without
-- case.
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

-- Whether the operator has blocked a client.
CREATE OR REPLACE FUNCTION client_is_blocked(p_client_id text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM oauth_blocked_clients b WHERE b.client_id = p_client_id);
END;
