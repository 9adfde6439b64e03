-- Set the storage parameters `fillfactor` and `toast_tuple_target` of the table `memories`, so that the new version of
-- an updated row fits on the page of the old version. The values of both parameters depend on the dimension of the
-- embeddings (p_dimension).
--
-- PostgreSQL updates a row by writing a new version of the row. Rows are updated often, for example when the same
-- content is sent again or a memory is rated. If the page of the old version has room for the new version, PostgreSQL
-- makes a HOT update, which changes no index. Otherwise PostgreSQL also inserts the new version into the HNSW index,
-- which takes a hundred times as long as a HOT update.
--
-- With up to 1,000 dimensions, a page has room for three row versions, and a third of the page is left free for new
-- versions. With 1,001 to 1,700 dimensions, a page has room for two row versions, and half of the page is left free.
-- With more dimensions, a page has room for only one row version, so no space is left free.
--
-- toast_tuple_target is the size above which PostgreSQL moves the large fields of a row to the TOAST table: a third of
-- a page with up to 1,000 dimensions, half of a page with up to 1,700 dimensions, and otherwise a whole page.
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
