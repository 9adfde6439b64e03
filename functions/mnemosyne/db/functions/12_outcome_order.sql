-- Trigger function: when the state of an ingest request changes, set the column changed_in of the request to the id of
-- the transaction.
--
-- A program that reads the outcomes of requests repeatedly uses this id to find the requests that have changed since
-- its last read. The program remembers the database snapshot of its last read. A request has changed since that read if
-- the transaction in changed_in was not visible in this snapshot. The column updated_at cannot show this, because a
-- transaction that commits after the last read may have set updated_at to a time before the last read.
CREATE OR REPLACE FUNCTION note_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;
-- The trigger runs for updates of updated_at, because every statement that changes the state also sets updated_at. A
-- statement that changes only announced_at does not set updated_at and leaves changed_in as it is.
CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE OF updated_at ON ingest_requests
    FOR EACH ROW EXECUTE FUNCTION note_change();
