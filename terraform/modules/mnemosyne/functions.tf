locals {
  auth          = var.auth_mode == "oauth" ? ["auth"] : []
  import_object = length(var.buckets) > 0 ? ["import-object"] : []

  # The functions that serve requests. The other function, migrate, is in migrate.tf.
  serving_names       = concat(["mcp", "ingest", "dead-letter"], local.import_object, local.auth)
  pushed_to           = ["ingest", "dead-letter", "import-object"]
  embedding_functions = ["mcp", "ingest", "dead-letter", "migrate"]

  import_object_instances   = 2
  import_object_connections = 2
  auth_instances            = 2
  auth_connections          = 4
  migrate_connections       = 3 # one for an operator's command, and one for each of the two scheduled jobs
  ingest_timeout            = 120

  # From Python 3.14 on, the build installs with uv instead of pip. Unlike pip, uv accepts a requirement without a hash
  # unless this setting forbids it.
  build_environment = { UV_REQUIRE_HASHES = "1" }
  gemini_api_key = var.gemini_api_key_secret == "" ? [] : [
    { key = "GEMINI_API_KEY", secret = var.gemini_api_key_secret, version = var.gemini_api_key_version }
  ]

  serving = {
    mcp = {
      description = "MCP over Streamable HTTP."
      memory      = "1Gi"
      timeout     = 120
      minimum     = var.mcp_min_instances
      maximum     = var.max_instances.mcp
      concurrency = 40
      ingress     = var.domain_only || var.iap ? "ALLOW_INTERNAL_AND_GCLB" : "ALLOW_ALL"
      settings    = local.mcp_settings
      secrets     = local.gemini_api_key
    }
    ingest = {
      description = "Stores the memories in the messages of the topic."
      memory      = "1Gi"
      timeout     = local.ingest_timeout
      minimum     = 0
      maximum     = var.max_instances.ingest
      concurrency = 2 * var.pool_size.ingest
      ingress     = "ALLOW_INTERNAL_ONLY"
      settings    = local.ingest_settings
      secrets     = local.gemini_api_key
    }
    dead-letter = {
      description = "Stores messages that ingest could not store, or keeps them as dead letters."
      memory      = "1Gi"
      timeout     = local.ingest_timeout
      minimum     = 0
      maximum     = var.max_instances.dead_letter
      concurrency = 2 * var.pool_size.dead_letter
      ingress     = "ALLOW_INTERNAL_ONLY"
      settings    = local.dead_letter_settings
      secrets     = local.gemini_api_key
    }
    import-object = {
      description = "Imports the memories in objects of buckets."
      memory      = "1Gi"
      timeout     = 600
      minimum     = 0
      maximum     = local.import_object_instances
      concurrency = 2
      ingress     = "ALLOW_INTERNAL_ONLY"
      settings    = local.import_object_settings
      secrets     = []
    }
    auth = {
      description = "Logs people in and issues tokens for mcp."
      memory      = "512Mi"
      timeout     = 60
      minimum     = 0
      maximum     = local.auth_instances
      concurrency = 40
      ingress     = "ALLOW_ALL"
      settings    = local.auth_settings
      # The environment variable names the version of the secret by its number, not as "latest". So a new version of the
      # secret creates a new revision of the function.
      secrets = [for version in google_secret_manager_secret_version.oauth_client : {
        key = "MNEMOSYNE_OAUTH_CLIENT_SECRET", secret = google_secret_manager_secret.oauth_client[0].secret_id, version = version.version
      }]
    }
  }
}

resource "google_cloudfunctions2_function" "serving" {
  #checkov:skip=CKV_GCP_124: mcp and auth are called from anywhere and identify their callers; domain_only closes the direct access to mcp. All other functions are internal.
  for_each     = { for name, function in local.serving : name => function if contains(local.serving_names, name) }
  project      = var.project
  name         = "${var.name}-${each.key}"
  location     = var.region
  labels       = local.labels
  description  = each.value.description
  kms_key_name = var.kms_key

  build_config {
    runtime               = var.python_runtime
    entry_point           = replace(each.key, "-", "_")
    service_account       = google_service_account.build.id
    docker_repository     = google_artifact_registry_repository.images.id
    environment_variables = local.build_environment

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.functions[each.key].email
    environment_variables            = each.value.settings
    available_memory                 = each.value.memory
    available_cpu                    = "1"
    timeout_seconds                  = each.value.timeout
    min_instance_count               = each.value.minimum
    max_instance_count               = each.value.maximum
    max_instance_request_concurrency = each.value.concurrency
    ingress_settings                 = each.value.ingress
    direct_vpc_egress                = "VPC_EGRESS_${var.vpc_egress}"
    all_traffic_on_latest_revision   = !contains(var.keep_traffic, each.key)

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }

    dynamic "secret_environment_variables" {
      for_each = each.value.secrets
      content {
        key        = secret_environment_variables.value.key
        project_id = var.project
        secret     = secret_environment_variables.value.secret
        version    = secret_environment_variables.value.version
      }
    }
  }

  lifecycle {
    precondition {
      condition     = each.key != "mcp" || !var.domain_only || contains(local.domain_addresses, coalesce(one(google_compute_global_address.mcp[*].address), "none"))
      error_message = "domain_only would make mcp unreachable: ${var.domain} resolves to ${join(", ", local.domain_addresses)}, not to the load balancer. Set its A record to `terraform -chdir=terraform output domain_address` first."
    }
  }

  # The list includes the migration of the database. If the migration fails, the apply ends before it changes a running
  # function.
  depends_on = [
    google_cloud_run_v2_job.migrate,
    google_kms_crypto_key_iam_member.auth,
    google_project_iam_member.functions,
    google_pubsub_topic_iam_member.publishes,
    google_secret_manager_secret_iam_member.gemini_api_key,
    google_secret_manager_secret_iam_member.oauth_client,
    google_storage_bucket_iam_member.reads,
    google_storage_bucket_iam_member.reports,
    terraform_data.migrated,
    time_sleep.build_grants,
  ]
}
