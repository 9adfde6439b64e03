# The authorization server, with auth_mode oauth: people log in at a provider of theirs, clients get tokens. There is nothing
# of it with another.

locals {
  auth             = var.auth_mode == "oauth" ? ["auth"] : []
  auth_instances   = 2
  auth_connections = 4

  # What the other side asks for may be left out there, and null is no text.
  oauth_people = [for one in var.oauth_people : { for key, value in one : key => value if value != null }]

  # Of both addresses of mcp a client may have been told.
  oauth_resources = [for host in local.mcp_hosts : "https://${host}/mcp"]

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
  })
}

# A key ring's name is taken for good, also after it has left the state: https://cloud.google.com/kms/docs/resource-hierarchy.
resource "random_id" "tokens" {
  count       = length(local.auth)
  byte_length = 3
}

resource "google_kms_key_ring" "tokens" {
  count      = length(local.auth)
  name       = "${var.name}-tokens-${random_id.tokens[0].hex}"
  location   = var.region
  depends_on = [time_sleep.services]
}

# What access tokens are signed by, and nothing is encrypted: without it people log in again. An asymmetric key rotates by
# hand (docs/operations.md).
resource "google_kms_crypto_key" "tokens" {
  #checkov:skip=CKV_GCP_43: Cloud KMS rotates no asymmetric key by itself.
  #checkov:skip=CKV_GCP_82: Nothing is lost with it but log-ins of a quarter of an hour.
  count    = length(local.auth)
  name     = "tokens"
  key_ring = google_kms_key_ring.tokens[0].id
  purpose  = "ASYMMETRIC_SIGN"
  labels   = local.labels

  version_template {
    algorithm        = "EC_SIGN_P256_SHA256"
    protection_level = "SOFTWARE"
  }
}

# To sign and to show the public key; and to list its versions, by one of which it signs.
resource "google_kms_crypto_key_iam_member" "auth" {
  for_each      = toset(length(local.auth) == 0 ? [] : ["roles/cloudkms.signerVerifier", "roles/cloudkms.viewer"])
  crypto_key_id = google_kms_crypto_key.tokens[0].id
  role          = each.key
  member        = google_service_account.functions["auth"].member
}

resource "google_secret_manager_secret" "oauth_client" {
  count     = length(local.auth)
  secret_id = "${var.name}-oauth-client"
  labels    = local.labels

  replication {
    user_managed {
      replicas {
        location = var.region

        dynamic "customer_managed_encryption" {
          for_each = var.kms_key == null ? [] : [var.kms_key]
          content {
            kms_key_name = customer_managed_encryption.value
          }
        }
      }
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agents, time_sleep.services]
}

# In no plan and no state. A run that makes a version without being given the secret fails: "Secret Payload cannot be empty".
resource "google_secret_manager_secret_version" "oauth_client" {
  count                  = length(local.auth)
  secret                 = google_secret_manager_secret.oauth_client[0].id
  secret_data_wo         = var.oauth_client_secret
  secret_data_wo_version = var.oauth_client_secret_version
}

resource "google_secret_manager_secret_iam_member" "oauth_client" {
  count     = length(local.auth)
  secret_id = google_secret_manager_secret.oauth_client[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.functions["auth"].member
}

# Browsers come here, and whatever asks for a token; it asks each who they are.
resource "google_cloud_run_v2_service_iam_member" "auth" {
  for_each = toset(length(local.auth) == 0 ? [] : ["allUsers"])
  name     = google_cloudfunctions2_function.auth[0].name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.key

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.auth[0].id]
  }
}

resource "google_cloudfunctions2_function" "auth" {
  #checkov:skip=CKV_GCP_124: People log in from anywhere, and clients fetch its keys and metadata without a credential.
  count       = length(local.auth)
  name        = "${var.name}-auth"
  location    = var.region
  labels      = local.labels
  description = "Logs people in and gives clients tokens for mcp."

  kms_key_name = var.kms_key

  build_config {
    runtime           = var.python_runtime
    entry_point       = "auth"
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
    service_account_email            = google_service_account.functions["auth"].email
    environment_variables            = local.auth_settings
    available_memory                 = "512Mi"
    available_cpu                    = "1"
    timeout_seconds                  = 60
    max_instance_count               = local.auth_instances
    max_instance_request_concurrency = 40
    ingress_settings                 = "ALLOW_ALL"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }

    secret_environment_variables {
      key        = "MNEMOSYNE_OAUTH_CLIENT_SECRET"
      project_id = var.project
      secret     = google_secret_manager_secret.oauth_client[0].secret_id
      # By its number, so that a new secret is a new revision.
      version = google_secret_manager_secret_version.oauth_client[0].version
    }
  }

  depends_on = [
    google_kms_crypto_key_iam_member.auth,
    google_project_iam_member.functions,
    google_secret_manager_secret_iam_member.oauth_client,
    terraform_data.migrated,
    time_sleep.build_grants,
  ]
}
