resource "google_cloudfunctions2_function" "mcp" {
  #checkov:skip=CKV_GCP_124: Agents call it from anywhere, and it asks each who it is; domain_only closes the direct way.
  name        = "${var.name}-mcp"
  location    = var.region
  labels      = local.labels
  description = "MCP over Streamable HTTP."

  kms_key_name = var.kms_key

  build_config {
    runtime           = var.python_runtime
    entry_point       = "mcp"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.images.id

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
    ingress_settings                 = var.domain_only || var.iap ? "ALLOW_INTERNAL_AND_GCLB" : "ALLOW_ALL"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }

    dynamic "secret_environment_variables" {
      for_each = var.gemini_api_key_secret == "" ? [] : [var.gemini_api_key_secret]
      content {
        key        = "GEMINI_API_KEY"
        project_id = var.project
        secret     = secret_environment_variables.value
        version    = var.gemini_api_key_version
      }
    }
  }

  lifecycle {
    precondition {
      condition     = !var.domain_only || contains(local.domain_leads_to, coalesce(one(google_compute_global_address.mcp[*].address), "none"))
      error_message = "domain_only would leave no way in: ${var.domain} leads to ${join(", ", local.domain_leads_to)}, not to the load balancer. Set its A record to `terraform output domain_address` first."
    }
  }

  depends_on = [
    google_project_iam_member.functions,
    google_pubsub_topic_iam_member.publisher,
    google_secret_manager_secret_iam_member.gemini_api_key,
    terraform_data.migrated,
    time_sleep.build_grants,
  ]
}

resource "google_cloudfunctions2_function" "ingest" {
  name        = "${var.name}-ingest"
  location    = var.region
  labels      = local.labels
  description = "Stores what the topic delivers."

  kms_key_name = var.kms_key

  build_config {
    runtime           = var.python_runtime
    entry_point       = "ingest"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.images.id

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
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }

    dynamic "secret_environment_variables" {
      for_each = var.gemini_api_key_secret == "" ? [] : [var.gemini_api_key_secret]
      content {
        key        = "GEMINI_API_KEY"
        project_id = var.project
        secret     = secret_environment_variables.value
        version    = var.gemini_api_key_version
      }
    }
  }

  depends_on = [
    google_project_iam_member.functions,
    google_secret_manager_secret_iam_member.gemini_api_key,
    terraform_data.migrated,
    time_sleep.build_grants,
  ]
}

resource "google_cloudfunctions2_function" "dead_letter" {
  name        = "${var.name}-dead-letter"
  location    = var.region
  labels      = local.labels
  description = "Keeps what could not be stored."

  kms_key_name = var.kms_key

  build_config {
    runtime           = var.python_runtime
    entry_point       = "dead_letter"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.images.id

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
    timeout_seconds                  = 120
    max_instance_count               = var.max_instances.dead_letter
    max_instance_request_concurrency = 2 * var.pool_size.dead_letter
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }
  }

  depends_on = [
    google_project_iam_member.functions,
    terraform_data.migrated,
    time_sleep.build_grants,
  ]
}
