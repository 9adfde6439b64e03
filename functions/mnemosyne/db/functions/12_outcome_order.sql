-- Store in each request the id of the transaction that changed its state last.
--
-- Readers of outcomes continue from a snapshot: every change that was not visible in it is new to them. updated_at
-- would not do: a transaction that commits late has an early time.
CREATE OR REPLACE FUNCTION note_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;
-- Every change of state sets updated_at. Setting announced_at does not.
CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE OF updated_at ON ingest_requests
    FOR EACH ROW EXECUTE FUNCTION note_change();

REVOKE ALL ON FUNCTION note_change FROM PUBLIC;
