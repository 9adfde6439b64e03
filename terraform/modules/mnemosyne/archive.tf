locals {
  # What the functions run, and nothing else: no tests, no command line, no development dependency.
  functions_dir = "${var.source_dir == null ? "${path.module}/../../.." : var.source_dir}/functions"
  infra_dir     = "${var.source_dir == null ? "${path.module}/../../.." : var.source_dir}/infra"
  archive = merge(
    { for file in fileset(local.functions_dir, "main.py") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.functions_dir, "requirements.txt") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.functions_dir, "mnemosyne/**/*.{py,html,css,js,txt}") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.infra_dir, "{migrations,sql}/*.sql") : "mnemosyne/sql/${file}" => "${local.infra_dir}/${file}" },
  )
}

data "archive_file" "functions" {
  type        = "zip"
  output_path = "${path.root}/.terraform/${var.name}-functions.zip"

  dynamic "source" {
    for_each = local.archive
    content {
      filename = source.key
      content  = file(source.value)
    }
  }
}

resource "google_storage_bucket" "source" {
  #checkov:skip=CKV_GCP_62: What it holds is in the repository; builds read it, and the audit log says who else did.
  name                        = "${var.project}-${var.name}-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # what it holds is built from the repository

  labels = local.labels

  dynamic "encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }

  # Each archive has a name of its own: what a later one has replaced stays for a month, the present one for good.
  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 30
    }
    action {
      type = "Delete"
    }
  }

  versioning {
    enabled = true
  }

  depends_on = [google_kms_crypto_key_iam_member.agents, time_sleep.services]
}

# Named by its content: under one name a change would not be deployed.
resource "google_storage_bucket_object" "source" {
  name   = "functions-${data.archive_file.functions.output_sha256}.zip"
  bucket = google_storage_bucket.source.name
  source = data.archive_file.functions.output_path
}

# The images that the functions are built into.
resource "google_artifact_registry_repository" "images" {
  #checkov:skip=CKV_GCP_84: Google's own keys encrypt it unless kms_key names one.
  location      = var.region
  repository_id = var.name
  description   = "What the functions of ${var.name} are built into."
  format        = "DOCKER"
  kms_key_name  = var.kms_key
  labels        = local.labels

  cleanup_policies {
    id     = "the-last-ten"
    action = "KEEP"
    most_recent_versions {
      keep_count = 10
    }
  }
  cleanup_policies {
    id     = "older-than-a-month"
    action = "DELETE"
    condition {
      tag_state  = "ANY"
      older_than = "2592000s"
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agents, time_sleep.services]
}
