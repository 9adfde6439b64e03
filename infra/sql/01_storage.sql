-- A repeated content, a read and a rating each update the row. Where a page has room for one version more, that is
-- HOT and touches no index; else the row goes into HNSW anew, which costs a hundred times as much. So two rows fill a
-- page but for a third, or one but for a second, and what makes a row larger than that goes to TOAST. The largest
-- embeddings leave no room for a second version, whatever is done.
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
