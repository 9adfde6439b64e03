# Objects of buckets, imported as they arrive; there is nothing of it where no bucket is named.

locals {
  import_object             = length(var.buckets) > 0 ? ["import-object"] : []
  import_object_instances   = 2
  import_object_connections = 2
}

# Cloud Storage publishes as its own account.
resource "google_pubsub_topic_iam_member" "notifies" {
  for_each = var.buckets
  topic    = google_pubsub_topic.entry["bucket-${each.key}"].id
  role     = "roles/pubsub.publisher"
  member   = "serviceAccount:${data.google_storage_project_service_account.this[0].email_address}"
}

resource "google_storage_notification" "object" {
  for_each           = var.buckets
  bucket             = each.value.bucket
  topic              = google_pubsub_topic.entry["bucket-${each.key}"].id
  payload_format     = "JSON_API_V1"
  event_types        = ["OBJECT_FINALIZE"]
  object_name_prefix = each.value.prefix == "" ? null : each.value.prefix
  depends_on         = [google_pubsub_topic_iam_member.notifies]
}

# It reads objects, and writes reports under names of their own: none is written over.
resource "google_storage_bucket_iam_member" "reads" {
  for_each = toset([for one in values(var.buckets) : one.bucket])
  bucket   = each.key
  role     = "roles/storage.objectViewer"
  member   = google_service_account.functions["import-object"].member
}

resource "google_storage_bucket_iam_member" "reports" {
  for_each = toset([for one in values(var.buckets) : one.bucket])
  bucket   = each.key
  role     = "roles/storage.objectCreator"
  member   = google_service_account.functions["import-object"].member
}

resource "google_pubsub_topic_iam_member" "import_object" {
  for_each = toset(local.import_object)
  topic    = google_pubsub_topic.ingest.id
  role     = "roles/pubsub.publisher"
  member   = google_service_account.functions["import-object"].member
}

resource "google_cloud_run_v2_service_iam_member" "push_import_object" {
  count    = length(local.import_object)
  name     = google_cloudfunctions2_function.import_object[0].name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.push.member

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.import_object[0].id]
  }
}

resource "google_cloudfunctions2_function" "import_object" {
  count       = length(local.import_object)
  name        = "${var.name}-import-object"
  location    = var.region
  labels      = local.labels
  description = "Reads objects of buckets, memory by memory."

  kms_key_name = var.kms_key

  build_config {
    runtime           = var.python_runtime
    entry_point       = "import_object"
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
    service_account_email            = google_service_account.functions["import-object"].email
    environment_variables            = local.import_object_settings
    available_memory                 = "1Gi"
    available_cpu                    = "1"
    timeout_seconds                  = 600
    max_instance_count               = local.import_object_instances
    max_instance_request_concurrency = 2
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }
  }

  depends_on = [
    google_project_iam_member.functions,
    google_pubsub_topic_iam_member.import_object,
    google_storage_bucket_iam_member.reads,
    google_storage_bucket_iam_member.reports,
    terraform_data.migrated,
    time_sleep.build_grants,
  ]
}
