locals {
  # All functions are deployed from one archive of source code. The archive has only the files that the functions need:
  # it has no tests, no files of the command line, and no development dependencies.
  repository    = var.source_dir == null ? "${path.module}/../../.." : var.source_dir
  functions_dir = "${local.repository}/functions"
  archive = merge(
    { for file in fileset(local.functions_dir, "main.py") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.functions_dir, "requirements.txt") : file => "${local.functions_dir}/${file}" },
    { for file in fileset(local.functions_dir, "mnemosyne/**/*.{py,html,css,js,txt,sql}") : file => "${local.functions_dir}/${file}" if !startswith(file, "mnemosyne/cli/") },
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
  #checkov:skip=CKV_GCP_62: The contents are in the repository, and the audit log records reads of the bucket.
  project                     = var.project
  name                        = "${var.project}-${var.name}-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # The contents can be built again from the repository.
  labels                      = local.labels

  dynamic "encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }

  # Each archive is an object with its own name. When a newer archive replaces it, Terraform deletes the object, but the
  # bucket keeps it as a noncurrent version for one more month.
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

  depends_on = [time_sleep.key_grants]
}

# The name of the archive contains the hash of its content. If the name did not change with the content, Terraform would
# not deploy a changed content.
resource "google_storage_bucket_object" "source" {
  name   = "functions-${data.archive_file.functions.output_sha256}.zip"
  bucket = google_storage_bucket.source.name
  source = data.archive_file.functions.output_path
}

resource "google_artifact_registry_repository" "images" {
  #checkov:skip=CKV_GCP_84: Google's keys encrypt the images unless kms_key names another key.
  project       = var.project
  location      = var.region
  repository_id = var.name
  description   = "Images of the functions of ${var.name}."
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

  depends_on = [time_sleep.key_grants]
}
