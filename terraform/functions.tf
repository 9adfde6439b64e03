locals {
  # What the functions run, and nothing else: no tests, no command line, no development dependency.
  functions_dir = "${path.module}/../functions"
  archive = merge(
    { for file in fileset(local.functions_dir, "main.py") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.functions_dir, "requirements.txt") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.functions_dir, "mnemosyne/**/*.py") : file => "${local.functions_dir}/${file}" },
    { for file in fileset("${path.module}/../infra", "migrations/*.sql") : file => "${path.module}/../infra/${file}" },
  )

  # The settings, as functions/mnemosyne/settings.py reads them.
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
  vertex = var.gemini_api_key_secret != "" ? {} : {
    GOOGLE_GENAI_USE_VERTEXAI = "true"
    GOOGLE_CLOUD_LOCATION     = var.region
  }
  own_identity = { MNEMOSYNE_DB_IAM_AUTH = "true" }

  mcp_hosts = concat([trimprefix(local.urls["mcp"], "https://")], var.domain == "" ? [] : [var.domain])
  mcp_settings = merge(local.common, local.vertex, local.own_identity, {
    MNEMOSYNE_DB_USER               = google_service_account.functions["mcp"].email
    MNEMOSYNE_DB_POOL_SIZE          = tostring(var.pool_size.mcp)
    MNEMOSYNE_AUTH_MODE             = var.auth_mode
    MNEMOSYNE_RATE_LIMIT_PER_MINUTE = tostring(var.rate_limit_per_minute)
    MNEMOSYNE_ALLOWED_HOSTS         = join(",", local.mcp_hosts)
    MNEMOSYNE_ALLOWED_ORIGINS       = join(",", [for host in local.mcp_hosts : "https://${host}"])
    }, var.auth_mode != "oidc" ? {} : {
    MNEMOSYNE_OIDC_ISSUER          = var.oidc_issuer
    MNEMOSYNE_OIDC_AUDIENCE        = var.oidc_audience
    MNEMOSYNE_OIDC_NAMESPACE_CLAIM = var.oidc_namespace_claim
  })
  push_settings = {
    for name in ["ingest", "dead-letter"] : name => {
      MNEMOSYNE_PUSH_ISSUER          = "https://accounts.google.com"
      MNEMOSYNE_PUSH_AUDIENCE        = local.urls[name]
      MNEMOSYNE_PUSH_SERVICE_ACCOUNT = google_service_account.push.email
    }
  }
  ingest_settings = merge(local.common, local.vertex, local.own_identity, local.push_settings["ingest"], {
    MNEMOSYNE_DB_USER      = google_service_account.functions["ingest"].email
    MNEMOSYNE_DB_POOL_SIZE = tostring(var.pool_size.ingest)
  })
  dead_letter_settings = merge(local.common, local.own_identity, local.push_settings["dead-letter"], {
    MNEMOSYNE_DB_USER      = google_service_account.functions["dead-letter"].email
    MNEMOSYNE_DB_POOL_SIZE = tostring(var.pool_size.dead_letter)
  })
  migrate_settings = merge(local.common, {
    MNEMOSYNE_DB_IAM_AUTH   = "false"
    MNEMOSYNE_DB_USER       = google_sql_user.owner.name
    MNEMOSYNE_DB_POOL_SIZE  = "1"
    MNEMOSYNE_RUNTIME_USERS = join(",", [for user in google_sql_user.functions : user.name])
  })
}

data "archive_file" "functions" {
  type        = "zip"
  output_path = "${path.module}/.terraform/functions.zip"

  dynamic "source" {
    for_each = local.archive
    content {
      filename = source.key
      content  = file(source.value)
    }
  }
}

resource "google_storage_bucket" "source" {
  name                        = "${var.project}-${var.name}-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # what it holds is built from the repository

  # The builds of the last versions stay, to go back to.
  lifecycle_rule {
    condition {
      num_newer_versions = 10
    }
    action {
      type = "Delete"
    }
  }

  versioning {
    enabled = true
  }

  depends_on = [google_project_service.this]
}

# Named by its content: under one name a change would not be deployed.
resource "google_storage_bucket_object" "source" {
  name   = "functions-${data.archive_file.functions.output_sha256}.zip"
  bucket = google_storage_bucket.source.name
  source = data.archive_file.functions.output_path
}

resource "google_cloudfunctions2_function" "migrate" {
  name        = "${var.name}-migrate"
  location    = var.region
  description = "Brings the database's schema up to date."

  build_config {
    runtime         = var.python_runtime
    entry_point     = "migrate"
    service_account = google_service_account.build.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.functions["migrate"].email
    environment_variables            = local.migrate_settings
    available_memory                 = "512Mi"
    available_cpu                    = "1"
    timeout_seconds                  = 3600
    max_instance_count               = 1
    max_instance_request_concurrency = 1
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = google_compute_network.this.id
      subnetwork = google_compute_subnetwork.functions.id
    }

    secret_environment_variables {
      key        = "MNEMOSYNE_DB_PASSWORD"
      project_id = var.project
      secret     = google_secret_manager_secret.owner_password.secret_id
      version    = "latest"
    }
  }

  depends_on = [
    google_project_iam_member.build,
    google_project_iam_member.functions,
    google_secret_manager_secret_iam_member.owner_password,
    google_secret_manager_secret_version.owner_password,
    google_sql_user.owner,
  ]
}

# Calls the migration from within the project, as internal ingress asks, and waits for how it ends.
resource "google_workflows_workflow" "migrate" {
  name                = "${var.name}-migrate"
  region              = var.region
  description         = "Runs the migration and fails where it fails."
  service_account     = google_service_account.workflow.id
  deletion_protection = false

  source_contents = yamlencode({
    main = {
      steps = [
        {
          call_migrate = {
            try = {
              call = "http.post"
              args = {
                url     = google_cloudfunctions2_function.migrate.service_config[0].uri
                timeout = 1800
                auth    = { type = "OIDC" }
              }
              result = "answer"
            }
            # A grant takes up to some minutes to be known everywhere; the migration itself may be tried as often.
            retry = {
              predicate   = "$${may_pass}"
              max_retries = 10
              backoff     = { initial_delay = 5, max_delay = 60, multiplier = 2 }
            }
          }
        },
        { done = { return = "$${answer.body}" } },
      ]
    }
    may_pass = {
      params = ["e"]
      steps = [
        { judge = { return = "$${\"code\" in e and (e.code == 403 or e.code == 429 or e.code == 503)}" } },
      ]
    }
  })

  depends_on = [google_cloud_run_v2_service_iam_member.migrate]
}

# API keys are made, listed and revoked through this: the function that keeps them is reached from within only.
resource "google_workflows_workflow" "keys" {
  name                = "${var.name}-keys"
  region              = var.region
  description         = "Creates, lists and revokes API keys; of a new one it is told the hash."
  service_account     = google_service_account.workflow.id
  deletion_protection = false

  source_contents = yamlencode({
    main = {
      params = ["asked"]
      steps = [
        {
          call_keys = {
            call = "http.post"
            args = {
              url  = "${google_cloudfunctions2_function.migrate.service_config[0].uri}/keys"
              body = "$${asked}"
              auth = { type = "OIDC", audience = google_cloudfunctions2_function.migrate.service_config[0].uri }
            }
            result = "answer"
          }
        },
        { done = { return = "$${answer.body}" } },
      ]
    }
  })

  depends_on = [google_cloud_run_v2_service_iam_member.migrate]
}

# Before the functions that serve are touched: where the migration fails, the apply ends here and the versions that
# were serving go on serving.
resource "terraform_data" "migrated" {
  triggers_replace = [data.archive_file.functions.output_sha256, local.migrate_settings]

  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    environment = {
      WORKFLOW = google_workflows_workflow.migrate.name
      PROJECT  = var.project
      REGION   = var.region
    }
    command = <<-SHELL
      set -euo pipefail
      result=$(gcloud workflows run "$WORKFLOW" --project="$PROJECT" --location="$REGION" --format=json)
      echo "$result"
      grep -q '"state": "SUCCEEDED"' <<<"$result" || { echo "The migration failed; the functions stay as they were." >&2; exit 1; }
    SHELL
  }
}

resource "google_cloudfunctions2_function" "mcp" {
  name        = "${var.name}-mcp"
  location    = var.region
  description = "MCP over Streamable HTTP."

  build_config {
    runtime         = var.python_runtime
    entry_point     = "mcp"
    service_account = google_service_account.build.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.functions["mcp"].email
    environment_variables            = local.mcp_settings
    available_memory                 = "1Gi"
    available_cpu                    = "1"
    timeout_seconds                  = 120
    min_instance_count               = var.mcp_min_instances
    max_instance_count               = var.max_instances.mcp
    max_instance_request_concurrency = 40
    ingress_settings                 = var.domain == "" ? "ALLOW_ALL" : "ALLOW_INTERNAL_AND_GCLB"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = google_compute_network.this.id
      subnetwork = google_compute_subnetwork.functions.id
    }

    dynamic "secret_environment_variables" {
      for_each = var.gemini_api_key_secret == "" ? [] : [var.gemini_api_key_secret]
      content {
        key        = "GEMINI_API_KEY"
        project_id = var.project
        secret     = secret_environment_variables.value
        version    = "latest"
      }
    }
  }

  depends_on = [
    google_project_iam_member.build,
    google_project_iam_member.functions,
    google_pubsub_topic_iam_member.publisher,
    google_secret_manager_secret_iam_member.gemini_api_key,
    terraform_data.migrated,
  ]
}

resource "google_cloudfunctions2_function" "ingest" {
  name        = "${var.name}-ingest"
  location    = var.region
  description = "Stores what the topic delivers."

  build_config {
    runtime         = var.python_runtime
    entry_point     = "ingest"
    service_account = google_service_account.build.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.functions["ingest"].email
    environment_variables            = local.ingest_settings
    available_memory                 = "1Gi"
    available_cpu                    = "1"
    timeout_seconds                  = local.ingest_timeout
    max_instance_count               = var.max_instances.ingest
    max_instance_request_concurrency = 2 * var.pool_size.ingest
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = google_compute_network.this.id
      subnetwork = google_compute_subnetwork.functions.id
    }

    dynamic "secret_environment_variables" {
      for_each = var.gemini_api_key_secret == "" ? [] : [var.gemini_api_key_secret]
      content {
        key        = "GEMINI_API_KEY"
        project_id = var.project
        secret     = secret_environment_variables.value
        version    = "latest"
      }
    }
  }

  depends_on = [
    google_project_iam_member.build,
    google_project_iam_member.functions,
    google_secret_manager_secret_iam_member.gemini_api_key,
    terraform_data.migrated,
  ]
}

resource "google_cloudfunctions2_function" "dead_letter" {
  name        = "${var.name}-dead-letter"
  location    = var.region
  description = "Keeps what could not be stored."

  build_config {
    runtime         = var.python_runtime
    entry_point     = "dead_letter"
    service_account = google_service_account.build.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.functions["dead-letter"].email
    environment_variables            = local.dead_letter_settings
    available_memory                 = "512Mi"
    available_cpu                    = "1"
    timeout_seconds                  = 60
    max_instance_count               = var.max_instances.dead_letter
    max_instance_request_concurrency = 2 * var.pool_size.dead_letter
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = google_compute_network.this.id
      subnetwork = google_compute_subnetwork.functions.id
    }
  }

  depends_on = [
    google_project_iam_member.build,
    google_project_iam_member.functions,
    terraform_data.migrated,
  ]
}
