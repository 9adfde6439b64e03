# Each entry of the variables publishers and buckets has a topic, whose messages are stored in one namespace. Pub/Sub
# pushes the messages to a URL that contains the namespace. The URL for dead letters also contains the namespace,
# because a dead letter does not name its original topic.

locals {
  entries = merge(
    { for name, publisher in var.publishers : "publisher-${name}" => {
      namespace       = publisher.namespace
      function        = "ingest"
      last_function   = "dead-letter"
      path            = "namespaces"
      ack_deadline    = local.ingest_timeout + 30
      attempts        = var.max_delivery_attempts
      minimum_backoff = "5s"
    } },
    # The import of a large object takes several deliveries, and each delivery continues where the last one ended. The
    # dead letters of these topics also go to import-object, because no other function may read objects.
    { for name, bucket in var.buckets : "bucket-${name}" => {
      namespace       = bucket.namespace
      function        = "import-object"
      last_function   = "import-object"
      path            = "objects"
      ack_deadline    = 600
      attempts        = 100
      minimum_backoff = "10s"
    } },
  )
  entry_topics = merge(
    { for name in keys(local.entries) : name => name },
    { for name in keys(local.entries) : "${name}-dead-letter" => name },
  )
  # A URL may not contain the character |, which namespaces such as auth0|42 have. The functions decode the path.
  entry_paths = { for name, entry in local.entries : name => "${entry.path}/${replace(entry.namespace, "|", "%7C")}" }
  publisher_members = {
    for pair in flatten([for name, publisher in var.publishers : [for member in distinct(publisher.members) : { name = name, member = member }]]) :
    "${pair.name} ${pair.member}" => pair
  }
}

# Each entry has two topics: one for messages and one for dead letters.
resource "google_pubsub_topic" "entry" {
  #checkov:skip=CKV_GCP_83: Google's keys encrypt the topic unless kms_key names another key.
  for_each                   = local.entry_topics
  project                    = var.project
  name                       = "${var.name}-${each.key}"
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
}

resource "google_pubsub_subscription" "entry" {
  for_each                   = local.entries
  project                    = var.project
  name                       = "${var.name}-${each.key}"
  topic                      = google_pubsub_topic.entry[each.key].id
  ack_deadline_seconds       = each.value.ack_deadline
  message_retention_duration = local.retention
  labels                     = local.labels

  push_config {
    push_endpoint = "${local.urls[each.value.function]}/${local.entry_paths[each.key]}"

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
    dead_letter_topic     = google_pubsub_topic.entry["${each.key}-dead-letter"].id
    max_delivery_attempts = each.value.attempts
  }

  expiration_policy {
    ttl = ""
  }

  depends_on = [google_cloudfunctions2_function.serving]
}

resource "google_pubsub_subscription" "entry_dead_letter" {
  for_each                   = local.entries
  project                    = var.project
  name                       = "${var.name}-${each.key}-dead-letter"
  topic                      = google_pubsub_topic.entry["${each.key}-dead-letter"].id
  ack_deadline_seconds       = each.value.ack_deadline
  message_retention_duration = local.retention
  labels                     = local.labels

  push_config {
    push_endpoint = "${local.urls[each.value.last_function]}/${local.entry_paths[each.key]}"

    oidc_token {
      service_account_email = google_service_account.push.email
      audience              = local.urls[each.value.last_function]
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  expiration_policy {
    ttl = ""
  }

  depends_on = [google_cloudfunctions2_function.serving]
}

resource "google_pubsub_topic_iam_member" "entry_publisher" {
  for_each = local.publisher_members
  project  = var.project
  topic    = google_pubsub_topic.entry["publisher-${each.value.name}"].name
  role     = "roles/pubsub.publisher"
  member   = each.value.member
}

resource "google_pubsub_topic_iam_member" "entry_agent_forwards" {
  for_each   = local.entries
  project    = var.project
  topic      = google_pubsub_topic.entry["${each.key}-dead-letter"].name
  role       = "roles/pubsub.publisher"
  member     = local.pubsub_agent
  depends_on = [google_project_service_identity.agents]
}

resource "google_pubsub_subscription_iam_member" "entry_agent_acknowledges" {
  for_each     = local.entries
  project      = var.project
  subscription = google_pubsub_subscription.entry[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
  depends_on   = [google_project_service_identity.agents]
}
