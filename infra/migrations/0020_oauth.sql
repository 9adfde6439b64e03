-- What the authorization server keeps: clients, requests under way, what people have granted and to whom. Of codes, tokens
-- and cookies only the SHA-256 is kept. The function `auth` has a role of its own that sees no memory, and the other
-- functions see nothing of this but whether a grant stands.

DO $$
BEGIN
    CREATE ROLE mnemosyne_auth NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- roles belong to the whole cluster: another database has made it
END
$$;

-- A client that has registered itself, or whose metadata document was read.
CREATE TABLE oauth_clients (
    id         text PRIMARY KEY,
    metadata   jsonb NOT NULL,
    read_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX oauth_clients_expire ON oauth_clients (expires_at);

-- A request between /authorize and the person's answer, bound to the browser whose cookie it is.
CREATE TABLE oauth_requests (
    cookie_hash   bytea PRIMARY KEY CHECK (length(cookie_hash) = 32),
    parameters    jsonb NOT NULL,
    status        text NOT NULL DEFAULT 'started' CHECK (status IN ('started', 'logged_in', 'decided')),
    log_in_hash   bytea CHECK (length(log_in_hash) = 32),
    attempts      integer NOT NULL DEFAULT 0,
    person        jsonb,
    expires_at    timestamptz NOT NULL
);
CREATE INDEX oauth_requests_expire ON oauth_requests (expires_at);

-- What a person has let a client do: the family that all its codes and tokens belong to.
CREATE TABLE oauth_grants (
    id          uuid PRIMARY KEY,
    subject     text NOT NULL,
    person      text NOT NULL,
    namespace   text NOT NULL CHECK (namespace <> ''),
    client_id   text NOT NULL,
    scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND scopes <> '{}'),
    resource    text NOT NULL,
    granted_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    revoked_for text
);
CREATE INDEX oauth_grants_expire ON oauth_grants (expires_at);
CREATE INDEX oauth_grants_of_person ON oauth_grants (subject, client_id);

CREATE TABLE oauth_codes (
    hash           bytea PRIMARY KEY CHECK (length(hash) = 32),
    grant_id       uuid NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
    redirect_uri   text NOT NULL,
    code_challenge text NOT NULL,
    expires_at     timestamptz NOT NULL,
    used_at        timestamptz
);
CREATE INDEX oauth_codes_of_grant ON oauth_codes (grant_id);

CREATE TABLE oauth_refresh_tokens (
    hash       bytea PRIMARY KEY CHECK (length(hash) = 32),
    grant_id   uuid NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX oauth_refresh_tokens_of_grant ON oauth_refresh_tokens (grant_id);

-- What a person has agreed to before, so that the same client is not asked about again.
CREATE TABLE oauth_consents (
    subject   text NOT NULL,
    client_id text NOT NULL,
    scopes    text[] NOT NULL,
    resource  text NOT NULL,
    given_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject, client_id, resource)
);

DO $$
DECLARE
    kept text;
BEGIN
    FOREACH kept IN ARRAY ARRAY['oauth_clients', 'oauth_requests', 'oauth_grants', 'oauth_codes', 'oauth_refresh_tokens',
        'oauth_consents'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', kept);
        EXECUTE format('CREATE POLICY authorization_server ON %I TO mnemosyne_auth USING (true)', kept);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO mnemosyne_auth', kept);
    END LOOP;
END
$$;

GRANT SELECT ON schema_migrations TO mnemosyne_auth;
