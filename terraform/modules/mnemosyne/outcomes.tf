# What becomes of each memory, for whoever subscribes: a topic without a subscription keeps nothing for long.
resource "google_pubsub_topic" "outcomes" {
  #checkov:skip=CKV_GCP_83: Google's own keys encrypt it unless kms_key names one.
  count                      = var.outcomes ? 1 : 0
  name                       = "${var.name}-outcomes"
  message_retention_duration = local.retention
  kms_key_name               = var.kms_key
  labels                     = local.labels
  depends_on                 = [google_kms_crypto_key_iam_member.agents, terraform_data.service_agents]
}

resource "google_pubsub_topic_iam_member" "outcomes" {
  for_each = toset(!var.outcomes ? [] : concat(["ingest", "dead-letter"], local.import_object))
  topic    = google_pubsub_topic.outcomes[0].id
  role     = "roles/pubsub.publisher"
  member   = google_service_account.functions[each.key].member
}
