locals {
  # How long a message may wait: `RETENTION` in functions/mnemosyne/service/ingest.py says `queued` for as long.
  retention      = "604800s"
  pubsub_agent   = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
  ingest_timeout = 120
}

resource "google_pubsub_topic" "ingest" {
  #checkov:skip=CKV_GCP_83: Google's own keys encrypt it unless kms_key names one.
  name                       = "${var.name}-ingest"
  message_retention_duration = local.retention
  kms_key_name               = var.kms_key
  labels                     = local.labels
  depends_on                 = [google_kms_crypto_key_iam_member.agents, terraform_data.service_agents]

  lifecycle {
    prevent_destroy = true
  }
}

resource "google_pubsub_topic" "dead_letter" {
  #checkov:skip=CKV_GCP_83: Google's own keys encrypt it unless kms_key names one.
  name                       = "${var.name}-dead-letter"
  message_retention_duration = local.retention
  kms_key_name               = var.kms_key
  labels                     = local.labels
  depends_on                 = [google_kms_crypto_key_iam_member.agents, terraform_data.service_agents]

  lifecycle {
    prevent_destroy = true
  }
}

# A subscription of our own, not an Eventarc trigger: that one can have no dead letters, deadline or retry policy.
resource "google_pubsub_subscription" "ingest" {
  name                       = "${var.name}-ingest"
  topic                      = google_pubsub_topic.ingest.id
  ack_deadline_seconds       = local.ingest_timeout + 30
  message_retention_duration = local.retention
  labels                     = local.labels

  push_config {
    push_endpoint = local.urls["ingest"]

    oidc_token {
      service_account_email = google_service_account.push.email
      audience              = local.urls["ingest"]
    }
  }

  retry_policy {
    minimum_backoff = "5s"
    maximum_backoff = "600s"
  }

  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead_letter.id
    max_delivery_attempts = var.max_delivery_attempts
  }

  expiration_policy {
    ttl = ""
  }

  lifecycle {
    prevent_destroy = true
  }

  depends_on = [google_cloudfunctions2_function.ingest]
}

resource "google_pubsub_subscription" "dead_letter" {
  name                       = "${var.name}-dead-letter"
  topic                      = google_pubsub_topic.dead_letter.id
  ack_deadline_seconds       = 150
  message_retention_duration = local.retention
  labels                     = local.labels

  push_config {
    push_endpoint = local.urls["dead-letter"]

    oidc_token {
      service_account_email = google_service_account.push.email
      audience              = local.urls["dead-letter"]
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  expiration_policy {
    ttl = ""
  }

  lifecycle {
    prevent_destroy = true
  }

  depends_on = [google_cloudfunctions2_function.dead_letter]
}

resource "google_pubsub_topic_iam_member" "publisher" {
  topic  = google_pubsub_topic.ingest.id
  role   = "roles/pubsub.publisher"
  member = google_service_account.functions["mcp"].member
}

# Without both of these, dead letters are neither forwarded nor taken off the subscription.
resource "google_pubsub_topic_iam_member" "agent_forwards" {
  topic  = google_pubsub_topic.dead_letter.id
  role   = "roles/pubsub.publisher"
  member = local.pubsub_agent

  depends_on = [terraform_data.service_agents]
}

resource "google_pubsub_subscription_iam_member" "agent_acknowledges" {
  subscription = google_pubsub_subscription.ingest.id
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent

  depends_on = [terraform_data.service_agents]
}
