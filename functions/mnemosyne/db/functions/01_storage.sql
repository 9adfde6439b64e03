-- Set the fill factor of `memories` so that updates stay on the row's page.
--
-- Storing a content again, and rating a memory, update its row. If the page has room for another version of the row,
-- the update is a HOT update, which changes no index; otherwise the row is inserted into the HNSW index again, at a
-- hundred times the cost. So the fill factor leaves a third of the page free if two rows fit, and half of it if one row
-- fits; TOAST stores the fields of larger rows. With the largest embeddings a page has no room for a second version in
-- any case.
CREATE OR REPLACE FUNCTION fit_rows_to_pages(p_dimension integer) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_dimension <= 1000 THEN
        ALTER TABLE memories SET (fillfactor = 66, toast_tuple_target = 2688);
    ELSIF p_dimension <= 1700 THEN
        ALTER TABLE memories SET (fillfactor = 50, toast_tuple_target = 4032);
    ELSE
        ALTER TABLE memories SET (fillfactor = 100, toast_tuple_target = 8160);
    END IF;
END
$$;

REVOKE ALL ON FUNCTION fit_rows_to_pages FROM PUBLIC;

SELECT fit_rows_to_pages((
    SELECT atttypmod FROM pg_attribute WHERE attrelid = CAST('memories' AS regclass) AND attname = 'embedding'
));
