-- Set changed_in of a request to the id of the transaction that changes its state.
--
-- A reader of outcomes continues from the database snapshot of its last read. Every change that was not visible in
-- that snapshot is new to the reader. The column updated_at cannot be used for this: a transaction that commits late
-- has an early time.
CREATE OR REPLACE FUNCTION note_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;
-- Every change of state sets updated_at. A change of announced_at alone does not set updated_at.
CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE OF updated_at ON ingest_requests
    FOR EACH ROW EXECUTE FUNCTION note_change();

REVOKE ALL ON FUNCTION note_change FROM PUBLIC;
