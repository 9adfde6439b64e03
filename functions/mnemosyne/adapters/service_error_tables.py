"""Rules that classify errors of services: kind, cause and next step.

The rules for the embedding API are in `embedding_error_table`. docs/service-errors.md has the same tables, and a test
compares the two.
"""

from typing import Final

from mnemosyne.adapters.embedding_error_table import EMBEDDING
from mnemosyne.adapters.service_errors import (
    CREDENTIALS,
    PRECONDITION,
    UNANSWERED,
    UNREACHABLE,
    UNUSABLE,
    Kind,
    Rule,
)
from mnemosyne.errors import StatementTimeout, UncertainPublication

_I, _T, _P, _M = Kind.ITEM, Kind.TEMPORARY, Kind.PERMANENT, Kind.MISCONFIGURED
LOG_IN = (
    "run `gcloud auth application-default login`; in a deployment, run `make deploy`, which restores the account of "
    "the function"
)

RANKING: Final = (
    Rule(
        f"401|403|{CREDENTIALS}",
        _P,
        "the ranking API refuses this deployment's credentials",
        "run `make deploy`, which enables discoveryengine.googleapis.com and grants roles/discoveryengine.viewer",
    ),
    Rule(
        "400|404",
        _M,
        "the ranking API does not have the model {model}",
        "set reranking_model (MNEMOSYNE_RERANKING_MODEL) to an available model and run `make deploy`",
        message="model|not found",
    ),
    Rule(
        "429",
        _T,
        "the ranking API's quota is exhausted",
        'request a higher quota, or set reranking_model = "" and run `make deploy`',
    ),
    Rule(UNREACHABLE, _T, "the ranking API cannot be reached"),
    Rule(".*", _T, "the ranking API does not work"),
)
"""Errors of the reranker. While it is unavailable, searches keep the original order of the results."""

TOPIC: Final = (
    Rule(
        "401|403",
        _P,
        "this function may not publish to the topic {topic}",
        "run `make deploy`, which grants roles/pubsub.publisher",
    ),
    Rule(CREDENTIALS, _P, "there are no Google credentials for the topic {topic}", LOG_IN),
    Rule(
        "404",
        _M,
        "the topic {topic} does not exist",
        "run `make deploy`, which creates it and its subscription; without Terraform, restart "
        "`mnemosyne dev`, because a restarted emulator has no topics",
    ),
    Rule(
        PRECONDITION,
        _P,
        "Pub/Sub cannot use the topic {topic}",
        "link the project to an open billing account; with kms_key, enable the key and run `make deploy`, which grants "
        "its use",
    ),
    Rule("429", _T, "Pub/Sub's quota is exhausted", "request more throughput for publishers in this region"),
    Rule("400", _I, "the topic {topic} refused a message"),
    Rule(
        UNANSWERED,
        _T,
        "the topic {topic} did not answer, and may have accepted the message",
        temporary=UncertainPublication,
    ),
    Rule(".*", _T, "the topic {topic} did not accept a message"),
)
"""Errors of Pub/Sub, while messages are published."""

BUCKET: Final = (
    Rule(
        f"401|403|{CREDENTIALS}",
        _M,
        "this function may not read the objects of a bucket, or not write reports",
        "run `make deploy`, which grants roles/storage.objectViewer and roles/storage.objectCreator on the bucket of "
        "{object}",
    ),
    Rule(
        "404",
        _M,
        "the bucket of an object does not exist",
        "correct `buckets` for {object} and run `make deploy`",
        message="bucket does not exist",
    ),
    Rule("404", _I, "{object} does not exist: it was deleted, or another object was written over it"),
    Rule("429", _T, "Cloud Storage's quota is exhausted", "request more"),
    Rule(".*", _T, "Cloud Storage does not answer"),
)
"""Errors of Cloud Storage, while objects are read and reports are written."""

DATABASE: Final = (
    Rule(
        "57014",
        _T,
        "the database reached its time limit",
        "look for slow statements in Query Insights; if the load is the cause, raise sql_tier and run `make deploy`",
        temporary=StatementTimeout,
    ),
    Rule(
        "25006",
        _P,
        "the database is read-only",
        "a failover passes within ten minutes; else run `make deploy`, which sets the address and the flags of the "
        "database, and turn off default_transaction_read_only",
    ),
    Rule(
        "42501",
        _P,
        "this function lacks a right in the database",
        "run `mnemosyne migrate --project MY-PROJECT`, which restores the rights; without Terraform, "
        "`mnemosyne migrate`",
    ),
    Rule("53100", _P, "the database's disk is full", "raise disk_limit_gb and run `make deploy`"),
    Rule(
        "53300",
        _T,
        "the database has no free connection for this user or database, which has a limit",
        "remove the limit with ALTER ROLE or ALTER DATABASE … CONNECTION LIMIT -1",
        message="for (role|database)",
    ),
    Rule(
        "53300",
        _T,
        "the database has no free connection",
        "raise max_connections, or lower max_instances, and run `make deploy`",
    ),
    Rule(
        "53400",
        _P,
        "a limit of the database's configuration is reached",
        "raise the limit that the log of the database names",
    ),
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
        "run `mnemosyne migrate --project MY-PROJECT`, which applies the migrations; "
        "without Terraform, `mnemosyne migrate`",
    ),
    Rule(
        "28000|28P01|3D000",
        _M,
        "{where} refuses the connection",
        "run `make deploy`, which creates user and database; without Terraform, check MNEMOSYNE_DB_USER and "
        "MNEMOSYNE_DB_NAME, or MNEMOSYNE_DATABASE_URL",
    ),
    Rule(
        "58...|F0...|XX00[12]",
        _P,
        "the database cannot read its files",
        "read the log of the database; then REINDEX, or restore: docs/deployment.md, Restore",
    ),
    Rule("XX000", _T, "the database reported an internal error", "read the log of the database"),
    Rule("22...|54...", _I, "the database cannot store this content"),
    Rule("", _T, "the database is not available"),
    Rule(UNREACHABLE, _T, "the database cannot be reached"),
)
"""Errors of PostgreSQL, by SQLSTATE. An error whose SQLSTATE has no rule is a bug in Mnemosyne. If a queue message has
caused such an error, the message is delivered again."""

CONNECTOR: Final = (
    Rule(
        "400|401|403|404",
        _M,
        "the Cloud SQL Admin API refuses {instance}",
        "run `make deploy`, which sets MNEMOSYNE_INSTANCE_CONNECTION_NAME and grants roles/cloudsql.client",
    ),
    Rule(CREDENTIALS, _M, "there are no Google credentials for Cloud SQL {instance}", LOG_IN),
    Rule(
        UNUSABLE,
        _M,
        "Cloud SQL {instance} cannot be used with these settings",
        "run `make deploy`; without Terraform, check MNEMOSYNE_DB_IP_TYPE and the region",
    ),
    Rule(".*", _T, "the database cannot be reached"),
)
"""Errors of the Cloud SQL Connector, while it opens a connection to PostgreSQL."""

TABLES: Final = {
    "Embedding API": EMBEDDING,
    "Reranker": RANKING,
    "PostgreSQL": DATABASE,
    "Cloud SQL Connector": CONNECTOR,
    "Pub/Sub": TOPIC,
    "Cloud Storage": BUCKET,
}
