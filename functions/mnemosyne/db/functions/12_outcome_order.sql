-- Note in each request which transaction changed its state last.
--
-- Readers of outcomes go on from a snapshot: what their snapshot did not see is new to them, whenever it was committed.
-- updated_at cannot serve them: a transaction that commits late has an early time.
CREATE OR REPLACE FUNCTION note_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;
-- Every change of state sets updated_at. To note that an outcome was announced is no change.
CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE OF updated_at ON ingest_requests
    FOR EACH ROW EXECUTE FUNCTION note_change();

REVOKE ALL ON FUNCTION note_change FROM PUBLIC;
