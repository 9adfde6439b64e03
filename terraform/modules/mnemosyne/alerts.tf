# Google bills each alert condition. So there is one condition per symptom, and none if no e-mail address or
# notification channel receives alerts. A symptom is a fault that users notice, or will notice soon.

locals {
  notified       = length(var.alert_emails) + length(var.notification_channels) > 0
  email_channels = [for channel in google_monitoring_notification_channel.email : channel.id]
  channels       = concat(local.email_channels, var.notification_channels)

  # Google's uptime check can reach mcp unless auth_mode is iam or Identity-Aware Proxy is on.
  has_uptime_check = local.notified && var.auth_mode != "iam" && !var.iap

  of_run      = "resource.type = \"cloud_run_revision\""
  of_mcp      = "${local.of_run} AND resource.labels.service_name = \"${var.name}-mcp\""
  of_services = "${local.of_run} AND resource.labels.service_name = one_of(${join(", ", formatlist("\"%s\"", local.service_names))})"
  of_events   = "metric.type = \"${local.metric_type}\" AND ${local.of_run}"
  of_tools    = "${local.of_events} AND metric.labels.event = \"tool_called\""
  requests    = "metric.type = \"logging.googleapis.com/user/${google_logging_metric.requests["requests"].name}\" AND ${local.of_run}"
  of_database = "resource.type = \"cloudsql_database\" AND resource.labels.database_id = \"${var.project}:${google_sql_database_instance.this.name}\""
  of_check    = "resource.type = \"uptime_url\" AND metric.labels.check_id = \"${try(google_monitoring_uptime_check_config.mcp[0].uptime_check_id, "")}\""

  # The filters of the alerts on messages match full names of subscriptions. Each entry of publishers and buckets has
  # its own subscriptions, so the filters contain the names of the entries. A filter has at most 2048 characters
  # (https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.alertPolicies#metricthreshold), so a list of more
  # than 1,500 characters is replaced by a pattern that matches every name.
  entry_names = {
    for kind, entries in { publisher = var.publishers, bucket = var.buckets } :
    kind => length(join("|", keys(entries))) > 1500 ? ".+" : join("|", keys(entries))
  }
  oldest_message     = "metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\" AND resource.type = \"pubsub_subscription\""
  of_publishers      = length(var.publishers) == 0 ? "" : "|publisher-(${local.entry_names["publisher"]})(-dead-letter)?"
  of_memories        = "resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-(ingest|dead-letter${local.of_publishers})\")"
  of_bucket_messages = "resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-bucket-(${local.entry_names["bucket"]})(-dead-letter)?\")"

  # Parts of the commands that the documentation of each alert shows. A test compares the columns of a command with the
  # fields that the runbook names.
  read_log  = "gcloud logging read --project=${var.project} --freshness=1h --limit=20 --format='table(timestamp,resource.labels.service_name,%s)' '${local.of_functions} AND %s'"
  of_fault  = "jsonPayload.event,jsonPayload.cause,jsonPayload.error,jsonPayload.next_step"
  of_audit  = "jsonPayload.action,jsonPayload.reason,jsonPayload.principal,jsonPayload.key,jsonPayload.address,jsonPayload.wait_s"
  check_all = "gcloud workflows run ${var.name}-check --project=${var.project} --location=${var.region}"
  instance  = "gcloud sql instances describe ${google_sql_database_instance.this.name} --project=${var.project} --format='yaml(state,settings.tier,settings.dataDiskSizeGb,settings.storageAutoResizeLimit,settings.databaseFlags)'"

  # Each alert fires if a value stays above a threshold for a duration. With a denominator, the value is a ratio.
  # docs/runbook.md has a section for each title, and `command` is the first command to run.
  value_alerts = {
    operator = {
      title     = "An operator must act"
      filter    = "${local.of_events} AND metric.labels.event = one_of(\"dead_lettered\", \"operator_needed\", \"quota_exceeded\", \"key_expires_soon\")"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      group_by  = ["metric.label.event", "metric.label.cause"]
      threshold = 0
      duration  = "0s"
      command   = format(local.read_log, "jsonPayload.namespace,jsonPayload.key,jsonPayload.expires_at,jsonPayload.subscription,${local.of_fault}", "jsonPayload.event=(\"operator_needed\" OR \"dead_lettered\" OR \"quota_exceeded\" OR \"key_expires_soon\")")
    }
    tools = {
      title       = "One tool call in twenty fails"
      filter      = "${local.of_tools} AND metric.labels.outcome = one_of(\"unavailable\", \"misconfigured\", \"crashed\", \"uncertain\")"
      denominator = local.of_tools
      aligner     = "ALIGN_DELTA"
      reducer     = "REDUCE_SUM"
      threshold   = 0.05
      duration    = "300s"
      command     = format(local.read_log, local.of_fault, "jsonPayload.event=(\"tool_unavailable\" OR \"tool_crashed\" OR \"tool_uncertain\")")
    }
    degraded = {
      title       = "One search in twenty is degraded"
      filter      = "${local.of_events} AND metric.labels.event = \"search_degraded\""
      denominator = "${local.of_events} AND metric.labels.event = \"searched\""
      aligner     = "ALIGN_DELTA"
      reducer     = "REDUCE_SUM"
      threshold   = 0.05
      duration    = "300s"
      command     = format(local.read_log, local.of_fault, "jsonPayload.event=(\"embedder_failed\" OR \"reranker_failed\" OR \"query_refused\")")
    }
    delayed = {
      title     = "A message waits longer than ten minutes"
      filter    = "${local.oldest_message} AND ${local.of_memories}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      group_by  = ["resource.label.subscription_id"]
      threshold = 600
      duration  = "300s"
      command   = format(local.read_log, local.of_fault, "(jsonPayload.event=(\"push_postponed\" OR \"push_crashed\" OR \"push_malformed\" OR \"start_failed\") OR (jsonPayload.event=\"audit\" AND jsonPayload.action=\"push\" AND jsonPayload.outcome=\"refused\"))")
    }
    lag = {
      title     = "Memories are stored two minutes late"
      filter    = "metric.type = \"${local.distribution_types["lag"]}\" AND ${local.of_run}"
      aligner   = "ALIGN_PERCENTILE_95"
      reducer   = "REDUCE_MAX"
      threshold = 120000
      duration  = "900s"
      command   = format(local.read_log, "jsonPayload.lag_ms,${local.of_fault}", "(jsonPayload.event=(\"push_postponed\" OR \"embedding_throttled\") OR jsonPayload.lag_ms>120000)")
    }
    dead_letters = {
      title     = "Twenty messages became dead letters"
      filter    = "${local.of_events} AND metric.labels.event = one_of(\"dead_lettered\", \"message_refused\")"
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      group_by  = ["metric.label.event", "metric.label.cause"]
      threshold = 20
      duration  = "0s"
      command   = format(local.read_log, "jsonPayload.namespace,jsonPayload.message_id,jsonPayload.subscription,${local.of_fault}", "jsonPayload.event=(\"dead_lettered\" OR \"message_refused\")")
    }
    refused = {
      title     = "Many calls are refused"
      filter    = "${local.of_events} AND metric.labels.event = \"audit\" AND metric.labels.outcome = \"refused\""
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      group_by  = ["metric.label.reason"]
      threshold = 300
      duration  = "300s"
      command   = format(local.read_log, local.of_audit, "jsonPayload.event=\"audit\" AND jsonPayload.outcome=\"refused\"")
    }
    pool = {
      title     = "Calls are refused because no database connection is free"
      filter    = "${local.of_events} AND metric.labels.event = \"audit\" AND metric.labels.outcome = \"refused\" AND metric.labels.reason = \"database\""
      aligner   = "ALIGN_DELTA"
      reducer   = "REDUCE_SUM"
      threshold = 10
      duration  = "0s"
      command   = format(local.read_log, local.of_audit, "jsonPayload.event=\"audit\" AND jsonPayload.reason=\"database\"")
    }
    server_errors = {
      title       = "One answer in a hundred is a 5xx"
      filter      = "${local.requests} AND metric.labels.status = monitoring.regex.full_match(\"5..\")"
      denominator = local.requests
      aligner     = "ALIGN_RATE"
      reducer     = "REDUCE_SUM"
      group_by    = ["resource.label.service_name"]
      threshold   = 0.01
      duration    = "300s"
      command     = format(local.read_log, local.of_fault, "jsonPayload.event=(\"authentication_unavailable\" OR \"authentication_crashed\" OR \"issuer_unreachable\" OR \"start_failed\" OR \"auth_unavailable\" OR \"auth_crashed\" OR \"key_versions_stale\")")
    }
    latency = {
      title     = "One call in twenty takes longer than two seconds"
      filter    = "metric.type = \"logging.googleapis.com/user/${google_logging_metric.requests["request_seconds"].name}\" AND ${local.of_mcp}"
      aligner   = "ALIGN_PERCENTILE_95"
      reducer   = "REDUCE_MAX"
      threshold = 2
      duration  = "600s"
      command   = format(local.read_log, "jsonPayload.tool,jsonPayload.duration_ms,jsonPayload.embed_ms,jsonPayload.database_ms,jsonPayload.rerank_ms,textPayload", "(jsonPayload.event=(\"searched\" OR \"tool_called\") OR textPayload:\"Starting new instance\")")
    }
    instances = {
      title     = "mcp has almost reached its maximum number of instances"
      filter    = "metric.type = \"run.googleapis.com/container/instance_count\" AND ${local.of_mcp} AND metric.labels.state = \"active\""
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_SUM"
      threshold = var.max_instances.mcp - 1
      duration  = "900s"
      command   = format(local.read_log, "jsonPayload.principal,jsonPayload.tool,jsonPayload.duration_ms", "jsonPayload.event=\"tool_called\"")
    }
    memory = {
      title     = "A function is running out of memory"
      filter    = "metric.type = \"run.googleapis.com/container/memory/utilizations\" AND ${local.of_services}"
      aligner   = "ALIGN_PERCENTILE_99"
      reducer   = "REDUCE_MAX"
      group_by  = ["resource.label.service_name"]
      threshold = 0.9
      duration  = "600s"
      command   = format(local.read_log, "textPayload", "textPayload:\"Memory limit\"")
    }
    database_cpu = {
      title     = "The database's processor is busy"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/cpu/utilization\" AND ${local.of_database}"
      aligner   = "ALIGN_MEAN"
      reducer   = "REDUCE_MAX"
      threshold = 0.85
      duration  = "900s"
      command   = local.instance
    }
    # This alert compares the used bytes with disk_limit_gb, not with the present size of the disk. The present size
    # says nothing, because Cloud SQL enlarges the disk up to the limit: a disk of 1 TB when 97.5 percent are full, and
    # a disk of 10 GB when half is full (https://cloud.google.com/sql/docs/postgres/instance-settings).
    database_disk = {
      title     = "The database's disk is almost full"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/disk/bytes_used\" AND ${local.of_database}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = floor(0.9 * var.disk_limit_gb * pow(2, 30))
      duration  = "900s"
      command   = local.instance
    }
    database_connections = {
      title     = "The database is running out of connections"
      filter    = "metric.type = \"cloudsql.googleapis.com/database/postgresql/num_backends\" AND ${local.of_database}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_SUM"
      threshold = floor(0.9 * var.max_connections)
      duration  = "300s"
      command   = "terraform -chdir=terraform output connections_needed"
    }
    objects = {
      title     = "An object of a bucket is not imported after a day"
      filter    = "${local.oldest_message} AND ${local.of_bucket_messages}"
      aligner   = "ALIGN_MAX"
      reducer   = "REDUCE_MAX"
      threshold = 86400
      duration  = "300s"
      command   = format(local.read_log, local.of_fault, "resource.labels.service_name=\"${var.name}-import-object\" AND jsonPayload.event=(\"push_postponed\" OR \"push_crashed\" OR \"operator_needed\")")
    }
    canary = {
      title     = "A memory cannot be stored and found"
      filter    = "metric.type = \"monitoring.googleapis.com/uptime_check/check_passed\" AND ${local.of_check}"
      aligner   = "ALIGN_NEXT_OLDER"
      period    = "1200s" # as in Google's own alerts on uptime checks
      reducer   = "REDUCE_COUNT_FALSE"
      threshold = 1
      duration  = "300s"
      command   = local.check_all
    }
    certificate = {
      title      = "The certificate of the domain expires within two weeks"
      filter     = "metric.type = \"monitoring.googleapis.com/uptime_check/time_until_ssl_cert_expires\" AND ${local.of_check}"
      comparison = "COMPARISON_LT"
      aligner    = "ALIGN_NEXT_OLDER"
      period     = "1200s"
      reducer    = "REDUCE_MIN"
      threshold  = 14
      duration   = "600s"
      command    = "gcloud compute ssl-certificates list --global --project=${var.project}"
    }
  }
  alerts = {
    for key, alert in local.value_alerts : key => alert
    if local.notified && lookup(local.exists, key, true)
  }
  # Alerts that exist only under a condition. Google renews the certificates of run.app addresses, so only the
  # certificate of a domain is checked. The alert on instances says something about the load only if the maximum number
  # of instances is more than one and more than the number that always runs.
  exists = {
    instances     = var.max_instances.mcp > max(1, var.mcp_min_instances)
    database_disk = var.disk_limit_gb > 0
    objects       = length(var.buckets) > 0
    canary        = local.has_uptime_check
    certificate   = local.has_uptime_check && var.domain_only
  }
}
