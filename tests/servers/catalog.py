"""The contents of a schema as lines of text, the same in all versions of PostgreSQL."""

from mnemosyne.adapters.database.connections import Connection

# Returns one line for each object. Left out are the objects of extensions, and the rights of the owner, who has all.
_LISTING = r"""
WITH public AS (SELECT CAST('public' AS regnamespace) AS oid),
extended AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e'),
relations AS (
    SELECT c.*, format('%s %s', CASE c.relkind WHEN 'r' THEN 'table' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence'
        WHEN 'v' THEN 'view' WHEN 'c' THEN 'type' ELSE CAST(c.relkind AS text) END, c.relname) AS label
    FROM pg_class c JOIN public ON c.relnamespace = public.oid
    WHERE NOT EXISTS (SELECT FROM extended WHERE classid = CAST('pg_class' AS regclass) AND objid = c.oid)
),
functions AS (
    SELECT p.*, format('function %s', CAST(p.oid AS regprocedure)) AS label
    FROM pg_proc p JOIN public ON p.pronamespace = public.oid
    WHERE NOT EXISTS (SELECT FROM extended WHERE classid = CAST('pg_proc' AS regclass) AND objid = p.oid)
),
rights AS (
    SELECT label, relowner AS owner, coalesce(relacl, acldefault('r', relowner)) AS acl FROM relations
        WHERE relkind IN ('r', 'v', 'S')
    UNION ALL
    SELECT r.label || ' column ' || a.attname, r.relowner, a.attacl
        FROM pg_attribute a JOIN relations r ON r.oid = a.attrelid WHERE a.attacl IS NOT NULL
    UNION ALL
    SELECT label, proowner, coalesce(proacl, acldefault('f', proowner)) FROM functions
)
SELECT format('%s of %s, options %s, row security %s %s', label,
    CASE WHEN relowner = CAST(current_user AS regrole) THEN 'the owner' ELSE 'another role' END, reloptions,
    relrowsecurity, relforcerowsecurity) FROM relations
UNION ALL
SELECT format('%s column %s %s, not null %s, default %s, storage %s %s, statistics %s', r.label, a.attname,
    format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attstorage, a.attcompression,
    nullif(a.attstattarget, -1))
    FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE r.relkind <> 'i'
UNION ALL
SELECT format('%s constraint %s', r.label, pg_get_constraintdef(c.oid))
    FROM pg_constraint c JOIN relations r ON r.oid = c.conrelid
    WHERE c.contype <> 'n'  -- Since version 18 a column's NOT NULL is a constraint as well.
UNION ALL
SELECT format('%s, valid %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
    FROM pg_index i JOIN relations r ON r.oid = i.indrelid
UNION ALL
SELECT format('%s trigger %s', r.label, pg_get_triggerdef(t.oid))
    FROM pg_trigger t JOIN relations r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT format('policy %s', to_jsonb(p)) FROM pg_policies p WHERE schemaname = 'public'
UNION ALL
SELECT format('%s of %s: %s', label,
    CASE WHEN proowner = CAST(current_user AS regrole) THEN 'the owner' ELSE 'another role' END,
    CASE WHEN prokind = 'a' THEN '' ELSE pg_get_functiondef(oid) END) FROM functions
UNION ALL
SELECT format('right %s on %s for %s%s', a.privilege_type, label, coalesce(g.rolname, 'all'),
    CASE WHEN a.is_grantable THEN ' to grant' ELSE '' END)
    FROM rights, LATERAL aclexplode(acl) a LEFT JOIN pg_roles g ON g.oid = a.grantee WHERE a.grantee <> rights.owner
UNION ALL
SELECT format('schema %s', nspname) FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
UNION ALL
SELECT format('applied %s %s', name, checksum) FROM (
    SELECT name, checksum FROM schema_migrations UNION ALL SELECT name, checksum FROM schema_repeatables) AS applied
UNION ALL
SELECT format('embedding space %s', to_jsonb(e)) FROM embedding_space e
UNION ALL
SELECT format('quota %s', to_jsonb(q)) FROM quotas q
ORDER BY 1
"""
# This query reads no tables of the schema, because they may not exist yet.
_OBJECTS = """
SELECT format('%s.%s %s', nspname, relname, relkind) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
UNION ALL
SELECT format('%s.%s(%s)', nspname, proname, oidvectortypes(proargtypes)) FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace WHERE nspname NOT IN ('pg_catalog', 'information_schema')
UNION ALL
SELECT extname FROM pg_extension
ORDER BY 1
"""
_EXTENSIONS = "SELECT extname FROM pg_extension ORDER BY 1"
# This query is separate, because roles belong to the server and not to a database.
_ROLES = """
SELECT format('role %s, login %s, superuser %s, creates roles %s, bypasses row security %s, replicates %s', rolname,
    rolcanlogin, rolsuper, rolcreaterole, rolbypassrls, rolreplication)
FROM pg_roles WHERE rolname LIKE 'mnemosyne\\_%' ORDER BY 1
"""


def listing(connection: Connection) -> list[str]:
    """Return a line for each object, right, applied file and initial row of the schema."""
    return [row[0] for row in connection.run_file(_LISTING)]


def objects(connection: Connection) -> list[str]:
    """Return the names of all tables, indexes, functions and extensions in the database."""
    return [row[0] for row in connection.run_file(_OBJECTS)]


def extensions(connection: Connection) -> list[str]:
    """Return the names of the extensions in the database."""
    return [row[0] for row in connection.run_file(_EXTENSIONS)]


def roles(connection: Connection) -> list[str]:
    """Return a line for each role that the schema creates."""
    return [row[0] for row in connection.run_file(_ROLES)]
