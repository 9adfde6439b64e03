# Ways in that can write to one namespace and no other: each has a topic of its own, and the endpoint its subscription
# pushes to says the namespace. So have the dead letters, for a message says nothing of where it came from.

locals {
  entries = merge(
    { for name, one in var.publishers : "publisher-${name}" => {
      namespace       = one.namespace
      function        = "ingest"
      path            = "namespaces"
      ack_deadline    = local.ingest_timeout + 30
      attempts        = var.max_delivery_attempts
      minimum_backoff = "5s"
    } },
    # A large object is read in many deliveries, each of which goes on where the one before it ended.
    { for name, one in var.buckets : "bucket-${name}" => {
      namespace       = one.namespace
      function        = "import-object"
      path            = "objects"
      ack_deadline    = 600
      attempts        = 100
      minimum_backoff = "10s"
    } },
  )
  publisher_members = {
    for pair in flatten([for name, one in var.publishers : [for member in one.members : { name = name, member = member }]]) :
    "${pair.name} ${pair.member}" => pair
  }
}

resource "google_pubsub_topic" "entry" {
  #checkov:skip=CKV_GCP_83: Google's own keys encrypt it unless kms_key names one.
  for_each                   = local.entries
  name                       = "${var.name}-${each.key}"
  message_retention_duration = local.retention
  kms_key_name               = var.kms_key
  labels                     = local.labels
  depends_on                 = [google_kms_crypto_key_iam_member.agents, terraform_data.service_agents]
}

resource "google_pubsub_topic" "entry_dead_letter" {
  #checkov:skip=CKV_GCP_83: Google's own keys encrypt it unless kms_key names one.
  for_each                   = local.entries
  name                       = "${var.name}-${each.key}-dead-letter"
  message_retention_duration = local.retention
  kms_key_name               = var.kms_key
  labels                     = local.labels
  depends_on                 = [google_kms_crypto_key_iam_member.agents, terraform_data.service_agents]
}

resource "google_pubsub_subscription" "entry" {
  for_each                   = local.entries
  name                       = "${var.name}-${each.key}"
  topic                      = google_pubsub_topic.entry[each.key].id
  ack_deadline_seconds       = each.value.ack_deadline
  message_retention_duration = local.retention
  labels                     = local.labels

  push_config {
    push_endpoint = "${local.urls[each.value.function]}/${each.value.path}/${each.value.namespace}"

    oidc_token {
      service_account_email = google_service_account.push.email
      audience              = local.urls[each.value.function]
    }
  }

  retry_policy {
    minimum_backoff = each.value.minimum_backoff
    maximum_backoff = "600s"
  }

  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.entry_dead_letter[each.key].id
    max_delivery_attempts = each.value.attempts
  }

  expiration_policy {
    ttl = ""
  }

  depends_on = [google_cloudfunctions2_function.ingest, google_cloudfunctions2_function.import_object]
}

resource "google_pubsub_subscription" "entry_dead_letter" {
  for_each                   = local.entries
  name                       = "${var.name}-${each.key}-dead-letter"
  topic                      = google_pubsub_topic.entry_dead_letter[each.key].id
  ack_deadline_seconds       = 150
  message_retention_duration = local.retention
  labels                     = local.labels

  push_config {
    push_endpoint = "${local.urls["dead-letter"]}/${each.value.path}/${each.value.namespace}"

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

  depends_on = [google_cloudfunctions2_function.dead_letter]
}

resource "google_pubsub_topic_iam_member" "entry_publisher" {
  for_each = local.publisher_members
  topic    = google_pubsub_topic.entry["publisher-${each.value.name}"].id
  role     = "roles/pubsub.publisher"
  member   = each.value.member
}

resource "google_pubsub_topic_iam_member" "entry_agent_forwards" {
  for_each = local.entries
  topic    = google_pubsub_topic.entry_dead_letter[each.key].id
  role     = "roles/pubsub.publisher"
  member   = local.pubsub_agent

  depends_on = [terraform_data.service_agents]
}

resource "google_pubsub_subscription_iam_member" "entry_agent_acknowledges" {
  for_each     = local.entries
  subscription = google_pubsub_subscription.entry[each.key].id
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent

  depends_on = [terraform_data.service_agents]
}
