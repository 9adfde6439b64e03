resource "google_monitoring_notification_channel" "email" {
  for_each     = toset(var.alert_emails)
  project      = var.project
  user_labels  = local.labels
  display_name = "Mnemosyne: ${each.key}"
  type         = "email"
  labels       = { email_address = each.key }
  depends_on   = [time_sleep.services]

  # Google refuses to delete a channel that an alert uses. With this setting, Terraform changes the alerts first:
  # https://github.com/hashicorp/terraform-provider-google/issues/3008
  lifecycle {
    create_before_destroy = true
  }
}

resource "google_monitoring_uptime_check_config" "mcp" {
  count        = local.has_uptime_check ? 1 : 0
  project      = var.project
  display_name = "Mnemosyne: ${var.name}-mcp"
  period       = "300s"
  timeout      = "60s" # the maximum; the cold starts of mcp and ingest take a part of it
  user_labels  = local.labels

  # On a call of /canary, mcp stores, finds and deletes a memory in a separate namespace, and answers 200 if that works.
  # mcp ignores the body, but Google refuses a POST without a content type.
  http_check {
    path                = "/canary"
    request_method      = "POST"
    content_type        = "USER_PROVIDED"
    custom_content_type = "application/json"
    body                = base64encode("{}")
    port                = 443
    use_ssl             = true
    validate_ssl        = true

    # The audience of the token is the URL that the check calls.
    service_agent_authentication {
      type = "OIDC_TOKEN"
    }
  }

  # The check uses the domain only if mcp has no other address, because a domain can be configured before its
  # certificate is active.
  monitored_resource {
    type = "uptime_url"
    labels = {
      project_id = var.project
      host       = local.canary_host
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.mcp]
}

# If the host changes, for example with domain_only, Terraform replaces the uptime check. Google refuses to delete a
# check that an alert uses (https://github.com/hashicorp/terraform-provider-google/issues/10176), so this resource makes
# Terraform replace the alerts, too. The check cannot have create_before_destroy instead, because Terraform would apply
# this setting also to mcp, on which the check depends.
resource "terraform_data" "canary_host" {
  input = local.canary_host
}

locals {
  next_page = "INSTANCE is ${google_sql_database_instance.this.name}, REGION is ${var.region}. docs/runbook.md of Mnemosyne's repository says what to do next: \"%s\"."

  # Cloud Monitoring replaces these variables: https://cloud.google.com/monitoring/alerts/doc-variables
  labels_of = {
    for key, alert in local.alerts :
    key => join("", [for label in try(alert.group_by, []) : "${element(split(".", label), 2)}: $${${label}}\n\n"])
  }
}

resource "google_monitoring_alert_policy" "this" {
  for_each              = local.alerts
  project               = var.project
  display_name          = "Mnemosyne (${var.name}): ${each.value.title}"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = local.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter             = each.value.filter
      denominator_filter = try(each.value.denominator, null)
      comparison         = try(each.value.comparison, "COMPARISON_GT")
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
          group_by_fields      = try(each.value.group_by, [])
        }
      }
    }
  }

  documentation {
    content   = "First command:\n\n    ${each.value.command}\n\n${local.labels_of[each.key]}${format(local.next_page, each.value.title)}"
    mime_type = "text/markdown"
  }

  lifecycle {
    replace_triggered_by = [terraform_data.canary_host]
  }

  depends_on = [time_sleep.metrics]
}

# This alert reads the log, because no metric counts these faults.
locals {
  maintenance = "A backup, a migration or a background job failed"
  # For each automated backup, Cloud SQL writes a system event to the audit log:
  # https://cloud.google.com/sql/docs/postgres/backup-recovery/view-audit-logs-for-automated-backups
  failed_backup = join(" AND ", [
    "log_id(\"cloudaudit.googleapis.com/system_event\")",
    "resource.type=\"cloudsql_database\"",
    "resource.labels.database_id=\"${var.project}:${google_sql_database_instance.this.name}\"",
    "protoPayload.methodName=\"cloudsql.instances.automatedBackup\"",
    "(severity>=ERROR OR protoPayload.metadata.windowStatus=(\"STATUS_FAILED\" OR \"STATUS_ATTEMPT_FAILED\"))",
  ])
  # By default, the migration runs as a Cloud Run job. The metric of log events does not count its events, because the
  # metric counts only events of services.
  failed_migration = join(" AND ", [
    "jsonPayload.event=\"migration_failed\"",
    "(resource.labels.job_name=\"${var.name}-migrate\" OR resource.labels.service_name=\"${var.name}-migrate\")",
  ])
  failed_job = join(" AND ", [
    "jsonPayload.event=(\"expiry_failed\" OR \"announcement_failed\" OR \"audit_lost\" OR \"audit_crashed\")",
    "resource.labels.service_name=(${join(" OR ", formatlist("\"%s\"", local.service_names))})",
  ])
  # The log of Cloud Scheduler is the only trace of a call that the function refused, or that did not reach the function.
  failed_schedule = join(" AND ", [
    "resource.type=\"cloud_scheduler_job\"",
    "resource.labels.job_id=(${join(" OR ", formatlist("\"${var.name}-%s\"", keys(local.schedules)))})",
    "severity>=ERROR",
  ])
  failed_maintenance = join(" OR ", formatlist("(%s)", [
    local.failed_backup, local.failed_migration, local.failed_job, local.failed_schedule,
  ]))
  # The table has columns for three kinds of log lines: the line of a backup has a methodName, the line of a schedule
  # has a job_id and a status, and every other line has an event.
  read_maintenance = "gcloud logging read --project=${var.project} --freshness=1d --limit=5 --format='table(timestamp,protoPayload.methodName,protoPayload.metadata,resource.labels.job_id,jsonPayload.status,jsonPayload.event,jsonPayload.cause,jsonPayload.error,jsonPayload.next_step)' '${local.failed_maintenance}'"
}

resource "google_monitoring_alert_policy" "maintenance" {
  count                 = local.notified ? 1 : 0
  project               = var.project
  display_name          = "Mnemosyne (${var.name}): ${local.maintenance}"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = local.labels

  conditions {
    display_name = local.maintenance

    condition_matched_log {
      filter = local.failed_maintenance
    }
  }

  alert_strategy {
    auto_close = "604800s"

    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    content   = "First command:\n\n    ${local.read_maintenance}\n\n${format(local.next_page, local.maintenance)}"
    mime_type = "text/markdown"
  }

  depends_on = [time_sleep.services]
}
