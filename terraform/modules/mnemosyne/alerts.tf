# Google bills each alert condition. So there is one condition per symptom, and none if no e-mail address or
# notification channel receives alerts.

locals {
  notified = length(var.alert_emails) + length(var.notification_channels) > 0
  channels = concat([for channel in google_monitoring_notification_channel.email : channel.id], var.notification_channels)

  # Callers without a Google identity can reach /health unless auth_mode is iam or Identity-Aware Proxy is on.
  has_uptime_check = local.notified && var.auth_mode != "iam" && !var.iap

  of_run      = "resource.type = \"cloud_run_revision\""
  of_mcp      = "${local.of_run} AND resource.labels.service_name = \"${var.name}-mcp\""
  of_events   = "metric.type = \"${local.metric_type}\" AND ${local.of_run}"
  requests    = "metric.type = \"run.googleapis.com/request_count\" AND ${local.of_mcp}"
  of_database = "resource.type = \"cloudsql_database\" AND resource.labels.database_id = \"${var.project}:${google_sql_database_instance.this.name}\""

  # Full names of the subscriptions. Each entry of publishers and buckets has its own subscriptions.
  oldest_message     = "metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\" AND resource.type = \"pubsub_subscription\""
  of_publishers      = length(var.publishers) == 0 ? "" : "|publisher-(${join("|", keys(var.publishers))})(-dead-letter)?"
  of_memories        = "resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-(ingest|dead-letter${local.of_publishers})\")"
  of_bucket_messages = "resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-bucket-(${join("|", keys(var.buckets))})(-dead-letter)?\")"

  # Each alert fires if a value stays above a threshold for a duration. With a denominator, the value is a ratio.
  # docs/operations.md has a section for each title.
  value_alerts = {
    lost = {
      title     = "An operator must act"
      filter    = "${local.of_events} AND metric.labels.event = one_of(\"dead_lettered\", \"operator_needed\", \"quota_exceeded\")"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      group_by  = ["metric.label.event"]
      threshold = 0
      duration  = "0s"
      advice    = "The label `event` names one of three events. operator_needed: a service refuses this deployment. The log event has the error, and its field `next_step` says what to do. Nothing is lost: waiting messages are stored when the fault is fixed. dead_lettered: `mnemosyne dead-letters list` names the causes. Fix the causes, then run `mnemosyne redrive`. quota_exceeded: `mnemosyne quota list` names the namespace, and `mnemosyne quota set` raises its limits."
    }
    delayed = {
      title     = "Memories wait longer than ten minutes"
      filter    = "${local.oldest_message} AND ${local.of_memories}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 600
      duration  = "300s"
      advice    = "Nothing is lost. Look for push_postponed in the logs of ingest and dead-letter; The usual causes are database_unreachable and embedding_throttled. The metric push_request_count of Pub/Sub shows the answers of ingest: 401 means a wrong push account or audience, 429 that all instances of ingest are busy, 500 a bug (push_crashed)."
    }
    throttled = {
      title     = "The embedding service answers 429"
      filter    = "${local.of_events} AND metric.labels.event = \"embedding_throttled\""
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 10
      duration  = "0s"
      advice    = "Request a higher quota for the embedding model, or lower max_instances.ingest. Nothing is lost. Searches use words only until the service answers again."
    }
    refused = {
      title     = "Many calls are refused"
      filter    = "${local.of_events} AND metric.labels.event = \"audit\" AND metric.labels.outcome = \"refused\""
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 300
      duration  = "300s"
      advice    = "The field `reason` of the log event audit has the reason: a wrong credential, rate, concurrency, or database."
    }
    server_errors = {
      title       = "One answer in a hundred is a 5xx"
      filter      = "${local.requests} AND metric.labels.response_code_class = \"5xx\""
      denominator = local.requests
      aligner     = "ALIGN_RATE"
      reducer     = "REDUCE_SUM"
      threshold   = 0.01
      duration    = "300s"
      advice      = "Look for tool_crashed, operator_needed and authentication_unavailable in the log of mcp. If the errors began with a deployment, roll back."
    }
    latency = {
      title     = "One call in twenty takes longer than two seconds"
      filter    = "metric.type = \"run.googleapis.com/request_latencies\" AND ${local.of_mcp}"
      aligner   = "ALIGN_PERCENTILE_95"
      reducer   = "REDUCE_MAX"
      threshold = 2000
      duration  = "600s"
      advice    = "The log event searched has embed_ms and database_ms. For cold starts raise mcp_min_instances, for a slow database raise sql_tier."
    }
    instances = {
      title     = "mcp has almost reached its maximum number of instances"
      filter    = "metric.type = \"run.googleapis.com/container/instance_count\" AND ${local.of_mcp}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_SUM"
      threshold = max(1, var.max_instances.mcp - 1)
      duration  = "900s"
      advice    = "Raise max_instances.mcp, and max_connections with it."
    }
    database_cpu = {
      title     = "The database's processor is busy"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/cpu/utilization\" AND ${local.of_database}"
      aligner   = "ALIGN_MEAN"
      reducer   = "REDUCE_MAX"
      threshold = 0.85
      duration  = "900s"
      advice    = "Query Insights shows the statements. Raise sql_tier."
    }
    database_disk = {
      title     = "The database's disk is almost full"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/disk/utilization\" AND ${local.of_database}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 0.9
      duration  = "900s"
      advice    = "The disk grows automatically up to disk_limit_gb. Raise that limit."
    }
    database_connections = {
      title     = "The database is running out of connections"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/postgresql/num_backends\" AND ${local.of_database}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_SUM"
      threshold = floor(0.9 * var.max_connections)
      duration  = "300s"
      advice    = "A client other than the functions holds connections, or max_connections is lower than the connections that the functions need (max_instances × pool_size)."
    }
    objects = {
      title     = "An object of a bucket is not imported after a day"
      filter    = "${local.oldest_message} AND ${local.of_bucket_messages}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 86400
      duration  = "300s"
      advice    = "The log of import-object has the reason: push_postponed shows the progress, operator_needed a missing permission."
    }
    down = {
      title     = "mcp does not answer"
      filter    = "metric.type = \"monitoring.googleapis.com/uptime_check/check_passed\" AND resource.type = \"uptime_url\" AND metric.labels.check_id = \"${try(google_monitoring_uptime_check_config.mcp[0].uptime_check_id, "")}\""
      aligner   = "ALIGN_NEXT_OLDER"
      period    = "1200s" # like Google's uptime alerts
      reducer   = "REDUCE_COUNT_FALSE"
      threshold = 1
      duration  = "300s"
      advice    = "At least two of Google's locations got no answer from /health. Look at the log of mcp. With a domain, also check its certificate and its DNS record."
    }
  }
  alerts = {
    for key, alert in local.value_alerts : key => alert
    if local.notified && (key != "objects" || length(var.buckets) > 0) && (key != "down" || local.has_uptime_check)
  }
  manual = "docs/operations.md of Mnemosyne's repository has more"
}

resource "google_monitoring_notification_channel" "email" {
  for_each     = toset(var.alert_emails)
  project      = var.project
  user_labels  = local.labels
  display_name = "Mnemosyne: ${each.key}"
  type         = "email"
  labels       = { email_address = each.key }
  depends_on   = [time_sleep.services]
}

resource "google_monitoring_uptime_check_config" "mcp" {
  count        = local.has_uptime_check ? 1 : 0
  project      = var.project
  display_name = "Mnemosyne: ${var.name}-mcp"
  period       = "300s"
  timeout      = "30s" # longer than a cold start
  user_labels  = local.labels

  http_check {
    path         = "/health"
    port         = 443
    use_ssl      = true
    validate_ssl = true
  }

  # The check uses the domain only if mcp has no other address, because a domain can be configured before its
  # certificate is active.
  monitored_resource {
    type = "uptime_url"
    labels = {
      project_id = var.project
      host       = var.domain_only ? var.domain : trimprefix(local.urls["mcp"], "https://")
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.mcp]
}

resource "google_monitoring_alert_policy" "this" {
  for_each              = local.alerts
  project               = var.project
  display_name          = "Mnemosyne: ${each.value.title}"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = local.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter             = each.value.filter
      denominator_filter = try(each.value.denominator, null)
      comparison         = "COMPARISON_GT"
      threshold_value    = each.value.threshold
      duration           = each.value.duration

      aggregations {
        alignment_period     = try(each.value.period, "300s")
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.reducer
        group_by_fields      = try(each.value.group_by, [])
      }

      dynamic "denominator_aggregations" {
        for_each = can(each.value.denominator) ? [1] : []
        content {
          alignment_period     = "300s"
          per_series_aligner   = each.value.aligner
          cross_series_reducer = each.value.reducer
        }
      }
    }
  }

  documentation {
    content   = "${each.value.advice}\n\n${local.manual}: \"${each.value.title}\"."
    mime_type = "text/markdown"
  }

  depends_on = [time_sleep.metrics]
}

# Cloud SQL has no metric for backups. For each automated backup, it writes a system event to the audit log:
# https://cloud.google.com/sql/docs/postgres/backup-recovery/view-audit-logs-for-automated-backups
resource "google_monitoring_alert_policy" "backup_failed" {
  count                 = local.notified ? 1 : 0
  project               = var.project
  display_name          = "Mnemosyne: A backup of the database failed"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = local.labels

  conditions {
    display_name = "A backup of the database failed"

    condition_matched_log {
      filter = join(" AND ", [
        "log_id(\"cloudaudit.googleapis.com/system_event\")",
        "resource.type=\"cloudsql_database\"",
        "resource.labels.database_id=\"${var.project}:${google_sql_database_instance.this.name}\"",
        "protoPayload.methodName=\"cloudsql.instances.automatedBackup\"",
        "(severity>=ERROR OR protoPayload.metadata.windowStatus=(\"STATUS_FAILED\" OR \"STATUS_ATTEMPT_FAILED\"))",
      ])
    }
  }

  alert_strategy {
    auto_close = "604800s"

    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    content   = "The entry's protoPayload.metadata says why. Make a backup by hand: `gcloud sql backups create --instance=${google_sql_database_instance.this.name}`.\n\n${local.manual}: \"A backup of the database failed\"."
    mime_type = "text/markdown"
  }

  depends_on = [time_sleep.services]
}
