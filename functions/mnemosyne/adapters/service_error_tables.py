"""Rules that classify errors of services: kind, cause and next step.

docs/service-errors.md has the same tables, and a test compares the two.
"""

from typing import Final

from mnemosyne.adapters.service_errors import CREDENTIALS, DIMENSION, UNREACHABLE, UNUSABLE, Kind, Rule
from mnemosyne.errors import StatementTimeout

_I, _T, _P, _M = Kind.ITEM, Kind.TEMPORARY, Kind.PERMANENT, Kind.MISCONFIGURED

EMBEDDING: Final = (
    Rule(
        "400|402|403",
        _P,
        "the project has a problem with its billing",
        "check its billing account",
        "billing",
        concerns_all=True,
    ),
    Rule(
        DIMENSION,
        _M,
        "the model {model} does not support dimension {dimension}",
        "set embedding_dimension (MNEMOSYNE_EMBEDDING_DIMENSION) to a supported one, or {another}",
    ),
    Rule(
        "400",
        _M,
        "the model {model} does not support dimension {dimension}",
        "set embedding_dimension (MNEMOSYNE_EMBEDDING_DIMENSION) to a supported one, or {another}",
        message="dimension",
    ),
    Rule(
        "400|401|403",
        _M,
        "the Gemini API refuses the API key",
        "put a valid key into gemini_api_key_secret (GEMINI_API_KEY), or {rights}",
        message="API[ _]key",
        concerns_all=True,
    ),
    Rule(
        "400",
        _M,
        "the model {model} is not available at the location of this caller",
        "{elsewhere}{another}, or leave gemini_api_key_secret empty to use Vertex AI",
        message="user location",
        concerns_all=True,
    ),
    Rule("404", _M, "the model {model} is not available {where}", "{elsewhere}{another}", concerns_all=True),
    Rule(
        "400",
        _M,
        "the model {model} is not available {where}",
        "{elsewhere}{another}",
        message=r"not (found|supported|available|offered)|unsupported|unavailable in|precondition",
    ),
    Rule(
        "403",
        _P,
        "the embedding API is not enabled in project {project}",
        "enable {api}",
        message="has not been used|is disabled|SERVICE_DISABLED|not enabled",
    ),
    Rule(
        "403",
        _M,
        "the model {model} is restricted in this project",
        "set {model_setting} to another model",
        message="legacy|restricted|allow-?list|deprecated|no longer|new (project|customer|user)s?",
    ),
    Rule("403", _P, "the model {model} may not be used {where}", "{rights}, or set {model_setting} to another model"),
    Rule(f"401|{CREDENTIALS}", _P, "the embedding service refuses this deployment's credentials", "{rights}"),
    Rule("429", _P, "the quota of {model} {where} is zero", "request more, or {elsewhere}{another}", r"limit: 0\b"),
    Rule("429", _T, "the quota of {model} {where} is exhausted or zero", "request more, or {elsewhere}{another}"),
    Rule("400|413", _P, "the model {model} refuses every text {where}", "check the project, or {elsewhere}{another}"),
    Rule(UNREACHABLE, _T, "the embedding service cannot be reached"),
    Rule(UNUSABLE, _T, "the embedding service returned an unusable answer"),
    Rule(".*", _T, "the embedding service does not work"),
)
"""Errors of the embedding API. 400, 413, 5xx, unusable and missing answers concern only one text if another text
succeeds."""

RANKING: Final = (
    Rule(
        f"401|403|{CREDENTIALS}",
        _P,
        "the ranking API refuses this deployment's credentials",
        "enable discoveryengine.googleapis.com and give this service account roles/discoveryengine.viewer",
    ),
    Rule(
        "400|404",
        _M,
        "the ranking API does not have the model {model}",
        "set reranking_model (MNEMOSYNE_RERANKING_MODEL) to an available model",
        message="model|not found",
    ),
    Rule(
        "429",
        _T,
        "the ranking API's quota is exhausted",
        "request more, or turn reranking off with an empty reranking_model",
    ),
    Rule(UNREACHABLE, _T, "the ranking API cannot be reached"),
    Rule(".*", _T, "the ranking API does not work"),
)
"""Errors of the reranker. While it is unavailable, searches keep the original order of the results."""

TOPIC: Final = (
    Rule(
        f"401|403|{CREDENTIALS}",
        _P,
        "this function may not publish to the topic {topic}",
        "give this service account roles/pubsub.publisher on it",
    ),
    Rule("404", _M, "the topic {topic} does not exist", "create it, or correct MNEMOSYNE_TOPIC"),
    Rule("429", _T, "Pub/Sub's quota is exhausted", "request more throughput for publishers in this region"),
    Rule("400", _I, "the topic {topic} refused a message"),
    Rule(".*", _T, "the topic {topic} did not accept a message"),
)
"""Pub/Sub."""

BUCKET: Final = (
    Rule(
        f"401|403|{CREDENTIALS}",
        _M,
        "this function may not read the objects of a bucket, or not write reports",
        "give this service account roles/storage.objectViewer and roles/storage.objectCreator on the bucket of "
        "{object}",
    ),
    Rule(
        "404",
        _M,
        "the bucket of an object does not exist",
        "correct `buckets` in Terraform, for {object}",
        message="bucket does not exist",
    ),
    Rule("404", _I, "{object} does not exist: it was deleted, or another object was written over it"),
    Rule("429", _T, "Cloud Storage's quota is exhausted", "request more"),
    Rule(".*", _T, "Cloud Storage does not answer"),
)
"""Cloud Storage."""

DATABASE: Final = (
    Rule(
        "57014",
        _T,
        "the database reached its time limit: narrow the search by time or tags, or ask for less",
        temporary=StatementTimeout,
    ),
    Rule(
        "25006",
        _P,
        "the database is read-only",
        "after a failover this passes within minutes; else check that the address is not a read replica's, and that "
        "default_transaction_read_only is off",
    ),
    Rule(
        "42501",
        _P,
        "this function lacks a right in the database",
        "run `mnemosyne migrate`, which restores the functions' rights, then `mnemosyne doctor`",
    ),
    Rule("53100", _P, "the database's disk is full", "raise disk_limit_gb"),
    Rule("53300", _T, "the database has no free connection", "raise max_connections, or lower max_instances"),
    Rule("53400", _P, "a limit of the database's configuration is reached", "raise the limit that its log names"),
    Rule("53...", _T, "the database lacks resources at the moment"),
    Rule("57P04", _P, "the database was dropped", "restore it: docs/deployment.md, Restore"),
    Rule("08...|57...|25P0[34]", _T, "the database is not available"),
    Rule("40...", _T, "the database ended a transaction that conflicted with another one"),
    Rule("55...", _T, "the database is busy"),
    Rule("0A000|26000", _T, "the database's schema has just changed"),
    Rule(
        "42P01|42703|42883|42704|3F000",
        _M,
        "the database's schema is not this version's",
        "run `mnemosyne migrate` as the role that owns the schema",
    ),
    Rule(
        "28000|28P01|3D000",
        _M,
        "{where} refuses the connection",
        "check MNEMOSYNE_DB_USER and MNEMOSYNE_DB_NAME, or MNEMOSYNE_DATABASE_URL, and that user and database exist",
    ),
    Rule("58...|F0...|XX00[12]", _P, "the database cannot read its files", "read its log, then restore or REINDEX"),
    Rule("XX000", _T, "the database reported an internal error", "read its log"),
    Rule("22...|54...", _I, "the database cannot store this content"),
    Rule("", _T, "the database is not available"),
    Rule(UNREACHABLE, _T, "the database cannot be reached"),
)
"""PostgreSQL, by SQLSTATE. An SQLSTATE without a rule is a bug in Mnemosyne; its message is delivered again."""

CONNECTOR: Final = (
    Rule(
        "400|401|403|404",
        _M,
        "the Cloud SQL Admin API refuses {instance}",
        "check MNEMOSYNE_INSTANCE_CONNECTION_NAME, and that this service account has roles/cloudsql.client",
    ),
    Rule(
        CREDENTIALS,
        _M,
        "there are no Google credentials for Cloud SQL {instance}",
        "run it as a service account",
    ),
    Rule(
        UNUSABLE,
        _M,
        "Cloud SQL {instance} cannot be used with these settings",
        "check MNEMOSYNE_DB_IP_TYPE and the region",
    ),
    Rule(".*", _T, "the database cannot be reached"),
)
"""The Cloud SQL Connector, before a connection to PostgreSQL exists."""

TABLES: Final = {
    "Embedding API": EMBEDDING,
    "Reranker": RANKING,
    "PostgreSQL": DATABASE,
    "Cloud SQL Connector": CONNECTOR,
    "Pub/Sub": TOPIC,
    "Cloud Storage": BUCKET,
}
