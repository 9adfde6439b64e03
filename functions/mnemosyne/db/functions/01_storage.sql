-- Set the fill factor of the table `memories` for the dimension of its embeddings, so that an updated row stays on its
-- page.
--
-- PostgreSQL updates a row by writing a new version of the row. A memory's row is updated when the same content is sent
-- again, and when the memory is rated. If the page of the old version has room for the new version, the update is a HOT
-- update, which changes no index. Otherwise PostgreSQL inserts the new version into the HNSW index, which costs a
-- hundred times as much as a HOT update.
--
-- With up to 1,000 dimensions, two rows fit on a page, and the fill factor leaves a third of the page free. With 1,001
-- to 1,700 dimensions, one row fits on a page, and the fill factor leaves half of the page free. With more dimensions,
-- a page has no room for a second version of a row, so the page is filled completely. If a row is larger than its share
-- of the page, PostgreSQL moves large fields of the row to the TOAST table.
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

SELECT fit_rows_to_pages((
    SELECT atttypmod FROM pg_attribute WHERE attrelid = CAST('memories' AS regclass) AND attname = 'embedding'
));
