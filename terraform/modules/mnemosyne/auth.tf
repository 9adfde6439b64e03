# The authorization server, which exists only with auth_mode oauth. People log in at their identity provider, and
# clients get tokens.

locals {
  # In the variable oauth_people, an optional attribute that is not set has the value null. The setting
  # MNEMOSYNE_OAUTH_PEOPLE of the function auth does not accept null, so such attributes are removed.
  oauth_people = [for person in var.oauth_people : { for key, value in person : key => value if value != null }]

  # A client may connect to mcp by its domain or by its run.app address, so tokens are issued for both.
  oauth_resources = [for host in local.mcp_hosts : "https://${host}/mcp"]
}

# The name has a random part, because Google never lets the name of a deleted key ring be used again:
# https://cloud.google.com/kms/docs/resource-hierarchy
resource "random_id" "tokens" {
  count       = length(local.auth)
  byte_length = 3
  keepers     = local.key_keepers
}

resource "google_kms_key_ring" "tokens" {
  count      = length(local.auth)
  project    = var.project
  name       = "${var.name}-tokens-${random_id.tokens[0].hex}"
  location   = var.region
  depends_on = [time_sleep.services]
}

# This key signs access tokens. No data are encrypted with it, so a lost key loses no data. docs/deployment.md says how
# to rotate the key.
resource "google_kms_crypto_key" "tokens" {
  #checkov:skip=CKV_GCP_43: Cloud KMS does not rotate asymmetric keys automatically.
  #checkov:skip=CKV_GCP_82: Losing the key ends access tokens only; clients refresh them.
  count    = length(local.auth)
  name     = "tokens"
  key_ring = google_kms_key_ring.tokens[0].id
  purpose  = "ASYMMETRIC_SIGN"
  labels   = local.labels

  version_template {
    algorithm        = "EC_SIGN_P256_SHA256"
    protection_level = var.kms_protection_level
  }

  lifecycle {
    create_before_destroy = true # a function uses the old key until it is updated
  }
}

# The function auth signs tokens with this key and publishes the public key. It also lists the versions of the key, to
# choose the version that signs. So auth needs two roles on the key.
resource "google_kms_crypto_key_iam_member" "auth" {
  for_each      = toset(length(local.auth) == 0 ? [] : ["roles/cloudkms.signerVerifier", "roles/cloudkms.viewer"])
  crypto_key_id = google_kms_crypto_key.tokens[0].id
  role          = each.key
  member        = google_service_account.functions["auth"].member

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_secret_manager_secret" "oauth_client" {
  count     = length(local.auth)
  project   = var.project
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

  depends_on = [time_sleep.key_grants]
}

# The client secret is a write-only argument, so it is neither in a plan nor in the state. It is written only if
# oauth_client_secret_version has changed. The provider refuses a plan without a secret, so a run without
# oauth_client_secret passes an empty secret. Usually the empty secret is not written. If oauth_client_secret_version
# has changed in such a run, the run fails with "Secret Payload cannot be empty". The functions then keep the present
# version of the secret, because it is destroyed last.
resource "google_secret_manager_secret_version" "oauth_client" {
  count                  = length(local.auth)
  project                = var.project
  secret                 = google_secret_manager_secret.oauth_client[0].id
  secret_data_wo         = var.oauth_client_secret == null ? "" : var.oauth_client_secret
  secret_data_wo_version = var.oauth_client_secret_version

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_secret_manager_secret_iam_member" "oauth_client" {
  count     = length(local.auth)
  project   = var.project
  secret_id = google_secret_manager_secret.oauth_client[0].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.functions["auth"].member
}
