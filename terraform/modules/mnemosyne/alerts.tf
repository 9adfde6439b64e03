locals {
  services = {
    mcp         = google_cloudfunctions2_function.mcp.name
    ingest      = google_cloudfunctions2_function.ingest.name
    dead_letter = google_cloudfunctions2_function.dead_letter.name
  }
  of_run      = "resource.type = \"cloud_run_revision\""
  of_database = "resource.type = \"cloudsql_database\" AND resource.labels.database_id = \"${var.project}:${google_sql_database_instance.this.name}\""

  # Alerts on one figure: above the threshold for as long as said.
  alerts = {
    dead_letters = {
      title     = "Messages were given up, or nobody could read them"
      filter    = "metric.type = \"logging.googleapis.com/user/${var.name}/dead_lettered\" AND ${local.of_run}"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 0
      duration  = "0s"
      advice    = "mnemosyne dead-letters list names the causes: of the namespace that the log line says (event dead_lettered), --namespace \"\" where it says none. Mend them, then: mnemosyne redrive --dry-run, mnemosyne redrive."
    }
    oldest_unacked = {
      title     = "Memories wait longer than ten minutes"
      filter    = "metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\" AND resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-(ingest|publisher-[a-z0-9-]+)\")"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 600
      duration  = "300s"
      advice    = "Look for push_postponed in the log of ingest: database_unreachable and embedding_throttled are the usual causes. Nothing is lost; it is stored once they pass."
    }
    objects_unread = {
      title     = "An object of a bucket is not imported after a day"
      filter    = "metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\" AND resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-bucket-[a-z0-9-]+\")"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 86400
      duration  = "300s"
      advice    = "push_postponed in the log of import-object says how far it is, misconfigured what it may not read or write. ingest stores what it has handed over: look at oldest_unacked too."
    }
    push_errors = {
      title     = "Deliveries to ingest fail"
      filter    = "metric.type = \"pubsub.googleapis.com/subscription/push_request_count\" AND resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${google_pubsub_subscription.ingest.name}\" AND metric.labels.response_class != \"ack\""
      aligner   = "ALIGN_RATE"
      reducer   = "REDUCE_SUM"
      threshold = 1
      duration  = "600s"
      advice    = "401: the push account or audience does not fit MNEMOSYNE_PUSH_*. 429: ingest is full, raise max_instances.ingest. 503: see push_postponed in its log. 500: see push_crashed."
    }
    latency = {
      title     = "One call in twenty takes longer than two seconds"
      filter    = "metric.type = \"run.googleapis.com/request_latencies\" AND ${local.of_run} AND resource.labels.service_name = \"${local.services.mcp}\""
      aligner   = "ALIGN_PERCENTILE_95"
      reducer   = "REDUCE_MAX"
      threshold = 2000
      duration  = "600s"
      advice    = "The log event searched says where the time goes (embed_ms, database_ms). Cold starts: raise mcp_min_instances. Database: raise sql_tier."
    }
    embedding_throttled = {
      title     = "The embedding service answers 429"
      filter    = "metric.type = \"logging.googleapis.com/user/${var.name}/embedding_throttled\" AND ${local.of_run}"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 10
      duration  = "0s"
      advice    = "Ask for a higher quota of the embedding model, or lower max_instances.ingest. Nothing is lost; searches fall back to words."
    }
    refused = {
      title     = "Many calls are refused"
      filter    = "metric.type = \"logging.googleapis.com/user/${var.name}/refused\" AND ${local.of_run}"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 300
      duration  = "300s"
      advice    = "The log event audit with outcome refused says why: authenticate with address and key id (somebody guesses, or a key was revoked), rate and concurrency with the principal (raise rate_limit_per_minute, or talk to its owner; mnemosyne keys revoke ends it), database with the seconds that a call would have waited for it (a larger sql_tier, or more max_connections and pool_size)."
    }
    quota_exceeded = {
      title     = "A namespace has used up its quota"
      filter    = "metric.type = \"logging.googleapis.com/user/${var.name}/quota_exceeded\" AND ${local.of_run}"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 0
      duration  = "0s"
      advice    = "The log event quota_exceeded names namespace and limit; its memories failed with that reason and are stored when they are sent again. mnemosyne quota list shows it, mnemosyne quota set --namespace NAME raises it."
    }
    database_cpu = {
      title     = "The database's processor is busy"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/cpu/utilization\" AND ${local.of_database}"
      aligner   = "ALIGN_MEAN"
      reducer   = "REDUCE_MAX"
      threshold = 0.85
      duration  = "900s"
      advice    = "Query Insights shows what it works on. Raise sql_tier."
    }
    database_disk = {
      title     = "The database's disk fills up"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/disk/utilization\" AND ${local.of_database}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 0.9
      duration  = "900s"
      advice    = "It grows by itself; if it does not, its limit is reached."
    }
    database_connections = {
      title     = "The database runs out of connections"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/postgresql/num_backends\" AND ${local.of_database}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_SUM"
      threshold = floor(0.9 * var.max_connections)
      duration  = "300s"
      advice    = "Somebody beside the functions holds connections, or max_instances × pool_size has outgrown max_connections."
    }
    instances = {
      title     = "Functions run at most of their instances"
      filter    = "metric.type = \"run.googleapis.com/container/instance_count\" AND ${local.of_run} AND resource.labels.service_name = \"${local.services.mcp}\""
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_SUM"
      threshold = max(1, var.max_instances.mcp - 1)
      duration  = "900s"
      advice    = "Raise max_instances.mcp, and with it max_connections."
    }
  }
}

resource "google_monitoring_notification_channel" "email" {
  for_each     = toset(var.alert_emails)
  user_labels  = local.labels
  display_name = "Mnemosyne: ${each.key}"
  type         = "email"
  labels       = { email_address = each.key }
  depends_on   = [time_sleep.services]
}

resource "google_monitoring_alert_policy" "this" {
  for_each              = local.alerts
  display_name          = "Mnemosyne: ${each.value.title}"
  combiner              = "OR"
  notification_channels = [for channel in google_monitoring_notification_channel.email : channel.id]
  user_labels           = local.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter          = each.value.filter
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.threshold
      duration        = each.value.duration

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.reducer
      }
    }
  }

  documentation {
    content   = each.value.advice
    mime_type = "text/markdown"
  }

  depends_on = [time_sleep.metrics]
}

# A share of all answers, so of two figures.
resource "google_monitoring_alert_policy" "server_errors" {
  display_name          = "Mnemosyne: One answer in a hundred is a 5xx"
  combiner              = "OR"
  notification_channels = [for channel in google_monitoring_notification_channel.email : channel.id]
  user_labels           = local.labels

  conditions {
    display_name = "5xx ratio of mcp"

    condition_threshold {
      filter             = "metric.type = \"run.googleapis.com/request_count\" AND ${local.of_run} AND resource.labels.service_name = \"${local.services.mcp}\" AND metric.labels.response_code_class = \"5xx\""
      denominator_filter = "metric.type = \"run.googleapis.com/request_count\" AND ${local.of_run} AND resource.labels.service_name = \"${local.services.mcp}\""
      comparison         = "COMPARISON_GT"
      threshold_value    = 0.01
      duration           = "300s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_RATE"
        cross_series_reducer = "REDUCE_SUM"
      }
      denominator_aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_RATE"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  documentation {
    content   = "Look for tool_crashed, misconfigured and authentication_unavailable in the log of mcp. /health?deep=1 and mnemosyne doctor say whether the database is well. After a deployment: go back to the version before (README, Operate)."
    mime_type = "text/markdown"
  }
}
