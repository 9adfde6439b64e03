# Import objects from Cloud Storage, for each entry of the variable buckets.

# Cloud Storage publishes notifications with its service agent.
resource "google_pubsub_topic_iam_member" "notifies" {
  for_each = var.buckets
  project  = var.project
  topic    = google_pubsub_topic.entry["bucket-${each.key}"].name
  role     = "roles/pubsub.publisher"
  member   = local.storage_agent

  depends_on = [data.google_storage_project_service_account.this]
}

# Cloud Storage refuses to create a notification until the grant has taken effect:
# https://github.com/hashicorp/terraform-provider-google/issues/12111
resource "time_sleep" "notifies" {
  for_each        = var.buckets
  create_duration = "60s"
  triggers        = { grant = google_pubsub_topic_iam_member.notifies[each.key].id }
}

resource "google_storage_notification" "object" {
  for_each           = var.buckets
  bucket             = each.value.bucket
  topic              = google_pubsub_topic.entry["bucket-${each.key}"].id
  payload_format     = "JSON_API_V1"
  event_types        = ["OBJECT_FINALIZE"]
  object_name_prefix = each.value.prefix == "" ? null : each.value.prefix
  depends_on         = [time_sleep.notifies]
}

locals {
  bucket_prefixes = {
    for bucket in toset([for entry in values(var.buckets) : entry.bucket]) : bucket => [
      for entry in values(var.buckets) : entry.prefix if entry.bucket == bucket && entry.prefix != ""
    ]
  }
  # These conditions limit the rights of import-object to two things: to list the objects of the bucket, and to use
  # objects with one of the prefixes. Without the right to list a bucket, Cloud Storage would answer 403 instead of 404
  # for an object that does not exist:
  # https://cloud.google.com/storage/docs/json_api/v1/status-codes#403-forbidden
  bucket_conditions = {
    for bucket, prefixes in local.bucket_prefixes : bucket => join(" || ", concat(
      ["resource.type == \"storage.googleapis.com/Bucket\""],
      [for prefix in prefixes : "resource.name.startsWith(${jsonencode("projects/_/buckets/${bucket}/objects/${prefix}")})"],
    )) if length(prefixes) > 0
  }
}

# The function import-object reads objects and creates reports. If an entry has a prefix, these rights apply only to
# objects with this prefix. The function can neither overwrite nor delete objects.
resource "google_storage_bucket_iam_member" "reads" {
  for_each = toset([for bucket in values(var.buckets) : bucket.bucket])
  bucket   = each.key
  role     = "roles/storage.objectViewer"
  member   = google_service_account.functions["import-object"].member

  dynamic "condition" {
    for_each = compact([lookup(local.bucket_conditions, each.key, "")])
    content {
      title       = "prefixes"
      description = "Objects that are imported, and the names of all objects."
      expression  = condition.value
    }
  }
}

resource "google_storage_bucket_iam_member" "reports" {
  for_each = toset([for bucket in values(var.buckets) : bucket.bucket])
  bucket   = each.key
  role     = "roles/storage.objectCreator"
  member   = google_service_account.functions["import-object"].member

  dynamic "condition" {
    for_each = compact([lookup(local.bucket_conditions, each.key, "")])
    content {
      title       = "prefixes"
      description = "Reports next to objects that are imported."
      expression  = condition.value
    }
  }
}
