# The topic to which the outcomes of ingest requests and the events of change feeds are published. A topic without a
# subscription keeps messages for message_retention_duration.
resource "google_pubsub_topic" "outcomes" {
  #checkov:skip=CKV_GCP_83: Google's keys encrypt the topic unless kms_key names another key.
  count                      = var.outcomes ? 1 : 0
  project                    = var.project
  name                       = "${var.name}-outcomes"
  message_retention_duration = local.retention
  kms_key_name               = var.kms_key
  labels                     = local.labels
  depends_on                 = [time_sleep.key_grants]

  dynamic "message_storage_policy" {
    for_each = local.storage_policy
    content {
      allowed_persistence_regions = message_storage_policy.value
    }
  }

  lifecycle {
    create_before_destroy = true # see google_project_iam_member.functions
  }
}
