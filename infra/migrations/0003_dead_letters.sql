-- Messages that were given up, whole, so that they can be put back.

CREATE TABLE dead_letters (
    namespace        text NOT NULL,
    message_id       text NOT NULL,
    data             bytea NOT NULL,
    attributes       jsonb NOT NULL,
    cause            text NOT NULL,
    dead_lettered_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, message_id)
);

ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON dead_letters TO mnemosyne_runtime
    USING (namespace = current_setting('mnemosyne.namespace', true));
GRANT SELECT, INSERT, DELETE ON dead_letters TO mnemosyne_runtime;
