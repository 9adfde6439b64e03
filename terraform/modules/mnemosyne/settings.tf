locals {
  # The environment variables of the functions. functions/mnemosyne/settings.py reads them.
  common = merge({
    GOOGLE_CLOUD_PROJECT               = var.project
    MNEMOSYNE_INSTANCE_CONNECTION_NAME = google_sql_database_instance.this.connection_name
    MNEMOSYNE_DB_NAME                  = google_sql_database.this.name
    MNEMOSYNE_DB_IP_TYPE               = var.psc ? "PSC" : "PRIVATE"
    MNEMOSYNE_TOPIC                    = google_pubsub_topic.ingest.id
    MNEMOSYNE_EMBEDDER                 = "gemini"
    MNEMOSYNE_EMBEDDING_MODEL          = var.embedding_model
    MNEMOSYNE_EMBEDDING_DIMENSION      = tostring(var.embedding_dimension)
    MNEMOSYNE_LOG_LEVEL                = "INFO"
    }, var.otlp_endpoint == "" ? {} : {
    OTEL_EXPORTER_OTLP_ENDPOINT = var.otlp_endpoint
  })

  # The default location is a multi-region (eu or us) or global. It is not a single region, because a single region may
  # not offer the embedding model. The multi-regions eu and us process texts only on their continent.
  default_embedding_location = startswith(var.region, "europe-") ? "eu" : startswith(var.region, "us-") ? "us" : "global"
  vertex = var.gemini_api_key_secret != "" ? {} : {
    GOOGLE_GENAI_USE_VERTEXAI = "true"
    GOOGLE_CLOUD_LOCATION     = var.embedding_location == "" ? local.default_embedding_location : var.embedding_location
  }
  own_identity = { MNEMOSYNE_DB_IAM_AUTH = "true" }

  mcp_hosts = concat([trimprefix(local.urls["mcp"], "https://")], var.domain == "" ? [] : [var.domain])
  mcp_settings = merge(local.common, local.vertex, local.own_identity, {
    MNEMOSYNE_DB_USER               = google_service_account.functions["mcp"].email
    MNEMOSYNE_DB_POOL_SIZE          = tostring(var.pool_size.mcp)
    MNEMOSYNE_AUTH_MODE             = var.auth_mode
    MNEMOSYNE_RATE_LIMIT_PER_MINUTE = tostring(var.rate_limit_per_minute)
    MNEMOSYNE_AUDIT_READS           = tostring(var.audit_reads)
    # How many addresses at the end of the header X-Forwarded-For are addresses of our load balancers. A load balancer
    # appends the caller's address and then its own address. If callers can also reach mcp without the load balancer,
    # the number must be 0, because such callers can forge every address of the header except the last one.
    MNEMOSYNE_TRUSTED_PROXIES = var.domain_only || var.iap ? "1" : "0"
    MNEMOSYNE_ALLOWED_HOSTS   = join(",", local.mcp_hosts)
    MNEMOSYNE_ALLOWED_ORIGINS = join(",", [for host in local.mcp_hosts : "https://${host}"])
    # These accounts may ask mcp to store and find a canary memory: check.tf.
    MNEMOSYNE_PUSH_AUDIENCE        = local.canary_audience
    MNEMOSYNE_PUSH_SERVICE_ACCOUNT = "${google_service_account.workflow.email},${local.uptime_agent}"
    }, var.reranking_model == "" ? {} : {
    MNEMOSYNE_RERANKING_MODEL = var.reranking_model
    }, var.auth_mode != "oidc" ? {} : {
    MNEMOSYNE_OIDC_ISSUER          = var.oidc_issuer
    MNEMOSYNE_OIDC_AUDIENCE        = var.oidc_audience
    MNEMOSYNE_OIDC_NAMESPACE_CLAIM = var.oidc_namespace_claim
    }, var.auth_mode != "oauth" ? {} : {
    MNEMOSYNE_OAUTH_ISSUER    = local.urls["auth"]
    MNEMOSYNE_OAUTH_RESOURCES = join(",", local.oauth_resources)
  })
  push_settings = {
    for name in local.pushed_to : name => {
      MNEMOSYNE_PUSH_ISSUER          = "https://accounts.google.com"
      MNEMOSYNE_PUSH_AUDIENCE        = local.urls[name]
      MNEMOSYNE_PUSH_SERVICE_ACCOUNT = "${google_service_account.push.email},${google_service_account.workflow.email}"
    }
  }
  outcome_settings = var.outcomes ? { MNEMOSYNE_OUTCOME_TOPIC = google_pubsub_topic.outcomes[0].id } : {}
  # These settings are for the functions that store memories.
  storing_settings = merge(local.common, local.vertex, local.own_identity, local.outcome_settings, length(var.immutable_sources) == 0 ? {} : {
    MNEMOSYNE_IMMUTABLE_SOURCES = join(",", var.immutable_sources)
  })
  ingest_settings = merge(local.storing_settings, local.push_settings["ingest"], {
    MNEMOSYNE_DB_USER      = google_service_account.functions["ingest"].email
    MNEMOSYNE_DB_POOL_SIZE = tostring(var.pool_size.ingest)
  })
  dead_letter_settings = merge(local.storing_settings, local.push_settings["dead-letter"], {
    MNEMOSYNE_DB_USER      = google_service_account.functions["dead-letter"].email
    MNEMOSYNE_DB_POOL_SIZE = tostring(var.pool_size.dead_letter)
  })
  import_object_settings = length(local.import_object) == 0 ? {} : merge(local.common, local.own_identity, local.push_settings["import-object"], local.outcome_settings, {
    MNEMOSYNE_DB_USER      = google_service_account.functions["import-object"].email
    MNEMOSYNE_DB_POOL_SIZE = tostring(local.import_object_connections)
    # Without this setting, the client library of Cloud Storage would request the metadata of the bucket, which the
    # function may not read.
    DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA = "true"
  })
  auth_settings = length(local.auth) == 0 ? {} : merge(local.common, local.own_identity, {
    MNEMOSYNE_DB_USER               = google_service_account.functions["auth"].email
    MNEMOSYNE_DB_POOL_SIZE          = tostring(local.auth_connections)
    MNEMOSYNE_ALLOWED_HOSTS         = trimprefix(local.urls["auth"], "https://")
    MNEMOSYNE_AUTH_MODE             = "oauth"
    MNEMOSYNE_OAUTH_ISSUER          = local.urls["auth"]
    MNEMOSYNE_OAUTH_RESOURCES       = join(",", local.oauth_resources)
    MNEMOSYNE_OAUTH_SIGNING_KEY     = google_kms_crypto_key.tokens[0].id
    MNEMOSYNE_OAUTH_PEOPLE          = jsonencode(local.oauth_people)
    MNEMOSYNE_OAUTH_UPSTREAM_ISSUER = var.oauth_upstream_issuer
    MNEMOSYNE_OAUTH_CLIENT_ID       = var.oauth_client_id

    MNEMOSYNE_OAUTH_ACCESS_TOKEN_SECONDS = tostring(var.oauth_access_token_seconds)
  })
  # `mnemosyne doctor` checks how callers of mcp authenticate.
  authentication = { for name, value in local.mcp_settings : name => value if length(regexall("^MNEMOSYNE_(AUTH_MODE|OIDC|OAUTH)", name)) > 0 }
  migrate_settings = merge(local.common, local.vertex, local.authentication, local.outcome_settings, {
    MNEMOSYNE_DB_IAM_AUTH  = "false"
    MNEMOSYNE_DB_USER      = google_sql_user.owner.name
    MNEMOSYNE_DB_POOL_SIZE = "1"
    MNEMOSYNE_AUDIT_DAYS   = tostring(var.audit_days)
    # The key that signs receipts. Operators request receipts. A receipt proves a forgetting, which is a deletion of
    # selected memories.
    MNEMOSYNE_RECEIPT_SIGNING_KEY = google_kms_crypto_key.receipts.id
    # The function accepts calls only from the workflow.
    MNEMOSYNE_PUSH_ISSUER          = "https://accounts.google.com"
    MNEMOSYNE_PUSH_AUDIENCE        = local.urls["migrate"]
    MNEMOSYNE_PUSH_SERVICE_ACCOUNT = google_service_account.workflow.email
    MNEMOSYNE_RUNTIME_USERS        = join(",", [for name, user in google_sql_user.functions : "${replace(name, "-", "_")}=${user.name}"])
  })
}
