"""SQL statements of the authorization server, with bind parameters."""

from typing import Final

CLIENT: Final = """
SELECT id, metadata, CAST(extract(epoch FROM now() - read_at) AS double precision) AS age
FROM oauth_clients
WHERE id = :id AND expires_at > now()
"""
KEEP_CLIENT: Final = """
INSERT INTO oauth_clients AS c (id, metadata, expires_at)
VALUES (:id, CAST(:metadata AS jsonb), now() + CAST(:seconds AS integer) * interval '1 second')
ON CONFLICT (id) DO UPDATE
SET metadata = EXCLUDED.metadata, read_at = now(), expires_at = greatest(c.expires_at, EXCLUDED.expires_at)
"""
EXTEND_CLIENT: Final = """
UPDATE oauth_clients SET expires_at = greatest(expires_at, now() + CAST(:seconds AS integer) * interval '1 second')
WHERE id = :id
"""

# Store an authorization request. It comes from :network, which is a part of :large_network. If one of these two
# networks already has its maximum number of requests, evict the oldest requests of that network. Only requests with the
# status `started`, in which no person has logged in yet, are counted and evicted. With SKIP LOCKED, two concurrent
# inserts do not wait for each other.
BEGIN: Final = """
WITH of_network AS (
    SELECT cookie_hash FROM oauth_requests
    WHERE network = CAST(:network AS text) AND status = 'started'
    ORDER BY expires_at DESC OFFSET CAST(:of_network AS integer) - 1 FOR UPDATE SKIP LOCKED
), of_large_network AS (
    SELECT cookie_hash FROM oauth_requests
    WHERE large_network = CAST(:large_network AS text) AND status = 'started'
    ORDER BY expires_at DESC OFFSET CAST(:of_large_network AS integer) - 1 FOR UPDATE SKIP LOCKED
), evicted AS (
    DELETE FROM oauth_requests WHERE cookie_hash IN (TABLE of_network UNION TABLE of_large_network)
)
INSERT INTO oauth_requests (cookie_hash, parameters, client, network, large_network, expires_at)
VALUES (:cookie_hash, CAST(:parameters AS jsonb), CAST(:client AS jsonb), CAST(:network AS text),
    CAST(:large_network AS text), now() + CAST(:seconds AS integer) * interval '1 second')
"""
PENDING: Final = """
SELECT parameters, status, log_in_hash, attempts, person, client
FROM oauth_requests
WHERE cookie_hash = :cookie_hash AND expires_at > now()
FOR UPDATE
"""
EXPECT_LOG_IN: Final = """
UPDATE oauth_requests SET log_in_hash = :log_in_hash, attempts = 0 WHERE cookie_hash = :cookie_hash
"""
COUNT_ATTEMPT: Final = "UPDATE oauth_requests SET attempts = attempts + 1 WHERE cookie_hash = :cookie_hash"
LOG_IN: Final = """
UPDATE oauth_requests
SET cookie_hash = :new_hash, status = 'logged_in', person = CAST(:person AS jsonb), log_in_hash = NULL
WHERE cookie_hash = :cookie_hash
"""
SET_STATUS: Final = "UPDATE oauth_requests SET status = :status WHERE cookie_hash = :cookie_hash"
END: Final = "DELETE FROM oauth_requests WHERE cookie_hash = :cookie_hash"

ADD_GRANT: Final = """
INSERT INTO oauth_grants (id, subject, person, namespace, client_id, client_name, scopes, resource, expires_at)
VALUES (CAST(:id AS uuid), :subject, :person, :namespace, :client_id, :client_name, CAST(:scopes AS text[]), :resource,
    now() + CAST(:seconds AS integer) * interval '1 second')
"""
GRANT: Final = """
SELECT id, subject, person, namespace, client_id, client_name, scopes, resource, expires_at,
    revoked_at IS NULL AND expires_at > now() AND NOT person_is_blocked(subject, ARRAY[person])
        AND NOT client_is_blocked(client_id) AS valid
FROM oauth_grants
WHERE id = CAST(:id AS uuid)
FOR UPDATE
"""
REVOKE: Final = """
UPDATE oauth_grants SET revoked_at = now(), revoked_for = :reason WHERE id = CAST(:id AS uuid) AND revoked_at IS NULL
"""
GRANTS_OF: Final = """
SELECT id, subject, person, namespace, client_id, client_name, scopes, resource, expires_at, true AS valid,
    last_used_at
FROM oauth_grants
WHERE subject = :subject AND revoked_at IS NULL AND expires_at > now()
ORDER BY granted_at DESC, id
"""
WITHDRAW: Final = """
WITH forgotten AS (
    DELETE FROM oauth_consents WHERE subject = CAST(:subject AS text) AND client_id = CAST(:client_id AS text)
), revoked AS (
    UPDATE oauth_grants SET revoked_at = now(), revoked_for = 'withdrawn'
    WHERE subject = CAST(:subject AS text) AND client_id = CAST(:client_id AS text) AND revoked_at IS NULL
        AND expires_at > now()
    RETURNING id
)
SELECT count(*) AS revoked FROM revoked
"""

ADD_CODE: Final = """
INSERT INTO oauth_codes (hash, grant_id, redirect_uri, code_challenge, expires_at)
VALUES (:hash, CAST(:grant_id AS uuid), :redirect_uri, :code_challenge,
    now() + CAST(:seconds AS integer) * interval '1 second')
"""
CODE: Final = """
SELECT grant_id, redirect_uri, code_challenge, expires_at > now() AS valid, used_at IS NOT NULL AS used
FROM oauth_codes
WHERE hash = :hash
FOR UPDATE
"""
USE_CODE: Final = "UPDATE oauth_codes SET used_at = now() WHERE hash = :hash"

EXTEND_GRANT: Final = """
UPDATE oauth_grants SET expires_at = now() + CAST(:seconds AS integer) * interval '1 second'
WHERE id = CAST(:id AS uuid)
"""
ADD_REFRESH: Final = """
INSERT INTO oauth_refresh_tokens (hash, grant_id, expires_at)
VALUES (:hash, CAST(:grant_id AS uuid), now() + CAST(:seconds AS integer) * interval '1 second')
ON CONFLICT (hash) DO NOTHING
"""
# Find the grant of a refresh token. The caller locks this grant before it reads the token, so that only one transaction
# at a time changes the refresh tokens of a grant.
REFRESH_GRANT: Final = "SELECT grant_id FROM oauth_refresh_tokens WHERE hash = :hash"
REFRESH: Final = """
SELECT expires_at > now() AS valid, used_at IS NOT NULL AS used,
    CASE WHEN used_at > now() - CAST(:repeat_seconds AS integer) * interval '1 second' THEN successor_salt END
        AS successor_salt
FROM oauth_refresh_tokens
WHERE hash = :hash
"""
# Mark a refresh token as used. Only the token that was used last keeps a salt. If all tokens kept their salts, the
# thief of an old token could compute its successors one after the other.
USE_REFRESH: Final = """
UPDATE oauth_refresh_tokens
SET used_at = CASE WHEN hash = CAST(:hash AS bytea) THEN now() ELSE used_at END,
    successor_salt = CASE WHEN hash = CAST(:hash AS bytea) THEN CAST(:successor_salt AS bytea) END
WHERE grant_id = CAST(:grant_id AS uuid) AND (hash = CAST(:hash AS bytea) OR successor_salt IS NOT NULL)
"""

CONSENT: Final = """
SELECT subject, client_id, scopes, resource
FROM oauth_consents
WHERE subject = :subject AND client_id = :client_id AND resource = :resource
"""
REMEMBER: Final = """
INSERT INTO oauth_consents (subject, client_id, scopes, resource)
VALUES (:subject, :client_id, CAST(:scopes AS text[]), :resource)
ON CONFLICT (subject, client_id, resource) DO UPDATE SET scopes = EXCLUDED.scopes, given_at = now()
"""

# Delete expired rows. With SKIP LOCKED, concurrent cleanups delete different rows. Codes and refresh tokens are deleted
# with their grants.
DELETE_EXPIRED_REQUESTS: Final = """
DELETE FROM oauth_requests WHERE cookie_hash IN (
    SELECT cookie_hash FROM oauth_requests WHERE expires_at <= now() ORDER BY expires_at LIMIT 100
    FOR UPDATE SKIP LOCKED)
"""
DELETE_EXPIRED_CLIENTS: Final = """
DELETE FROM oauth_clients WHERE id IN (
    SELECT id FROM oauth_clients WHERE expires_at <= now() ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)
"""
DELETE_EXPIRED_GRANTS: Final = """
DELETE FROM oauth_grants WHERE id IN (
    SELECT id FROM oauth_grants WHERE expires_at <= now() - interval '1 day' ORDER BY expires_at LIMIT 100
    FOR UPDATE SKIP LOCKED)
"""

IS_BLOCKED: Final = "SELECT person_is_blocked(:subject, CAST(:addresses AS text[])) AS blocked"
CLIENT_IS_BLOCKED: Final = "SELECT client_is_blocked(:client_id) AS blocked"

VALID_GRANT: Final = """
SELECT subject, namespace, client_id, client_name, scopes, expires_at, last_used_at
FROM standing_grant(CAST(:id AS uuid))
"""
