locals {
  # How long Pub/Sub keeps a message. The subscriptions keep undelivered messages, and the topics also keep delivered
  # messages. So after a restore of the database, an operator can move a subscription back in time, and Pub/Sub delivers
  # the messages since then again. `RETENTION` in functions/mnemosyne/service/request_status.py has the same value: for
  # this time, a request without an outcome is reported as `queued`.
  retention      = "604800s"
  pubsub_agent   = local.agent_members["pubsub"]
  storage_policy = length(var.message_storage_regions) == 0 ? [] : [var.message_storage_regions]

  # Which function publishes to which topic.
  publishes = merge(
    # migrate publishes dead letters again, for `mnemosyne redrive`.
    { for name in concat(["mcp", "migrate"], local.import_object) : "${name} ingest" => {
      account = name, topic = google_pubsub_topic.ingest.name
    } },
    # The outcomes of requests are published to this topic. migrate publishes the changes of memories to it, too.
    { for name in var.outcomes ? concat(["ingest", "dead-letter", "migrate"], local.import_object) : [] : "${name} outcomes" => {
      account = name, topic = one(google_pubsub_topic.outcomes[*].name)
    } },
  )
}

resource "google_pubsub_topic" "ingest" {
  #checkov:skip=CKV_GCP_83: Google's keys encrypt the topic unless kms_key names another key.
  project                    = var.project
  name                       = "${var.name}-ingest"
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
    prevent_destroy = true
  }
}

resource "google_pubsub_topic" "dead_letter" {
  #checkov:skip=CKV_GCP_83: Google's keys encrypt the topic unless kms_key names another key.
  project                    = var.project
  name                       = "${var.name}-dead-letter"
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
    prevent_destroy = true
  }
}

# The subscription is not an Eventarc trigger, because the subscription of such a trigger cannot have a dead-letter
# topic, an acknowledgement deadline or a retry policy.
resource "google_pubsub_subscription" "ingest" {
  project                    = var.project
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

  depends_on = [google_cloudfunctions2_function.serving]
}

resource "google_pubsub_subscription" "dead_letter" {
  project                    = var.project
  name                       = "${var.name}-dead-letter"
  topic                      = google_pubsub_topic.dead_letter.id
  ack_deadline_seconds       = local.ingest_timeout + 30
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

  depends_on = [google_cloudfunctions2_function.serving]
}

resource "google_pubsub_topic_iam_member" "publishes" {
  for_each = local.publishes
  project  = var.project
  topic    = each.value.topic
  role     = "roles/pubsub.publisher"
  member   = google_service_account.functions[each.value.account].member

  lifecycle {
    create_before_destroy = true # see google_project_iam_member.functions
  }
}

# When ingest has failed for the last time, Pub/Sub publishes the message to the topic for dead letters, and
# acknowledges it in the subscription. Pub/Sub needs one of these two grants for each of the two steps.
resource "google_pubsub_topic_iam_member" "agent_forwards" {
  project    = var.project
  topic      = google_pubsub_topic.dead_letter.name
  role       = "roles/pubsub.publisher"
  member     = local.pubsub_agent
  depends_on = [google_project_service_identity.agents]
}

resource "google_pubsub_subscription_iam_member" "agent_acknowledges" {
  project      = var.project
  subscription = google_pubsub_subscription.ingest.name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
  depends_on   = [google_project_service_identity.agents]
}
