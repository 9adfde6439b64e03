# The key that signs receipts. A receipt proves a forgetting, which is a deletion of selected memories. See
# docs/retention.md.

# Google never changes the protection level of a key, so another level needs other keys in other key rings. The keys of
# earlier releases have the level SOFTWARE and no keepers. So for SOFTWARE the keepers must be null: with {}, Terraform
# would replace the keys of each existing deployment.
locals {
  key_keepers = var.kms_protection_level == "SOFTWARE" ? null : { protection_level = var.kms_protection_level }
}

# The name has a random part, because Google never lets the name of a deleted key ring be used again:
# https://cloud.google.com/kms/docs/resource-hierarchy
resource "random_id" "receipts" {
  byte_length = 3
  keepers     = local.key_keepers
}

resource "google_kms_key_ring" "receipts" {
  project    = var.project
  name       = "${var.name}-receipts-${random_id.receipts.hex}"
  location   = var.region
  depends_on = [time_sleep.services]
}

# Receipts contain the public key, so a receipt can be verified after the key is deleted.
resource "google_kms_crypto_key" "receipts" {
  #checkov:skip=CKV_GCP_43: Cloud KMS does not rotate asymmetric keys automatically.
  #checkov:skip=CKV_GCP_82: Losing the key loses no data, and receipts contain its public part.
  name     = "receipts"
  key_ring = google_kms_key_ring.receipts.id
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

# The function migrate signs with the key. It lists the versions to choose the version that signs.
resource "google_kms_crypto_key_iam_member" "migrate" {
  for_each      = toset(["roles/cloudkms.signerVerifier", "roles/cloudkms.viewer"])
  crypto_key_id = google_kms_crypto_key.receipts.id
  role          = each.key
  member        = google_service_account.functions["migrate"].member

  lifecycle {
    create_before_destroy = true
  }
}
