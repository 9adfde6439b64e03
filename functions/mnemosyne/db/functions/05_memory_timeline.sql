-- Return the number of memories that match the filters in each day, week, month or year in the time zone p_timezone.
-- p_per is the name of the period: 'day', 'week', 'month' or 'year'. If p_per is null, the function chooses the first
-- of 'day', 'week' and 'month' that gives at most 400 periods, and otherwise 'year'. For this choice, the periods are
-- counted from the oldest to the newest memory of the namespace that matches the filters by time; other filters do not
-- matter. The newest period is first, and the result has at most 1,000 rows.
--
-- The result has only dates of the years 1 to 9999. If a period begins outside these years in the time zone, the result
-- has the first or the last day of these years instead.
CREATE OR REPLACE FUNCTION memory_timeline(p_namespace text, p_filters jsonb, p_per text, p_timezone text)
RETURNS TABLE (per text, start date, memories bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
    max_rows constant integer := 1000;
    earliest constant timestamp := '0001-01-01';
    latest constant timestamp := '9999-12-31';
    first timestamptz;
    last timestamptz;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT min(m."timestamp"), max(m."timestamp") INTO first, last
    FROM memories m WHERE m.namespace = p_namespace
        AND m."timestamp" >= coalesce(filters.after, '-infinity') AND m."timestamp" < coalesce(filters.before, 'infinity');
    -- Convert times with the setting `timezone`, not with AT TIME ZONE: in AT TIME ZONE, CET, EET, MET and WET are
    -- abbreviations without daylight saving, not the zones with these names. PostgreSQL resets the setting at the end
    -- of this function.
    PERFORM set_config('timezone', p_timezone, true);
    per := coalesce(p_per, (
        SELECT finest.name
        FROM (VALUES ('day', interval '400 days'), ('week', interval '400 weeks'), ('month', interval '400 months')) AS finest (name, most)
        WHERE date_trunc(finest.name, CAST(last AS timestamp)) < date_trunc(finest.name, CAST(first AS timestamp)) + finest.most
        ORDER BY finest.most LIMIT 1), 'year');
    -- If three conditions are met, a simpler query is enough, which reads only the index on time and no row of the
    -- table. The conditions are: all filters are filters by time, superseded memories are included, and the namespace
    -- has no expired memory.
    IF NOT EXISTS (SELECT FROM memories m WHERE m.expires_at <= now() AND m.namespace = p_namespace) AND jsonb_strip_nulls(p_filters) - ARRAY['after', 'before', 'include_superseded'] = '{}'
        AND filters.include_superseded THEN
        RETURN QUERY
        SELECT per, CAST(greatest(least(date_trunc(per, CAST(m."timestamp" AS timestamp)), latest), earliest) AS date) AS bucket, count(*)
        FROM memories m WHERE m.namespace = p_namespace
            AND m."timestamp" >= coalesce(filters.after, '-infinity')
            AND m."timestamp" < coalesce(filters.before, 'infinity')
        GROUP BY bucket ORDER BY bucket DESC LIMIT max_rows;
    ELSE
        RETURN QUERY
        SELECT per, CAST(greatest(least(date_trunc(per, CAST(m."timestamp" AS timestamp)), latest), earliest) AS date) AS bucket, count(*)
        FROM memories m WHERE m.namespace = p_namespace AND matches_filters(m, filters)
        GROUP BY bucket ORDER BY bucket DESC LIMIT max_rows;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION memory_timeline(text, jsonb, text, text) TO mnemosyne_runtime, mnemosyne_mcp;
