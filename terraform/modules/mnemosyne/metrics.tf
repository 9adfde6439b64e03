locals {
  # Log events of the functions that are counted; a test holds them to what the code logs.
  events = {
    ingest_accepted            = "Requests accepted."
    ingest_outcome             = "Requests stored, or found to be duplicates."
    ingest_failed              = "Requests that can never be stored."
    dead_lettered              = "Messages given up after every attempt."
    push_postponed             = "Deliveries put off by a fault that may pass."
    push_crashed               = "Deliveries that met a fault of our own."
    tool_crashed               = "Tool calls that met a fault of our own."
    tool_unavailable           = "Tool calls refused because a part was away."
    searched                   = "Searches answered."
    search_degraded            = "Searches by words alone because the embedder was away."
    embedding_throttled        = "Embedding calls that the service answered with 429 to the end."
    database_unreachable       = "Connections that could not be opened."
    misconfigured              = "Requests refused because the settings are wrong."
    authentication_unavailable = "Callers that nobody could check."
    quota_exceeded             = "Deliveries of which something had no room in its namespace's quota."
    audit                      = "Changes and refusals."
  }
}

resource "google_logging_metric" "events" {
  for_each    = local.events
  name        = "${var.name}/${each.key}"
  description = each.value
  filter      = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name:\"${var.name}-\" AND jsonPayload.event=\"${each.key}\""

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }

  depends_on = [time_sleep.services]
}

# Credentials, scopes, rates: whoever was refused, by address or principal in the log.
resource "google_logging_metric" "refused" {
  name        = "${var.name}/refused"
  description = "Calls refused at the door."
  filter      = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name:\"${var.name}-\" AND jsonPayload.event=\"audit\" AND jsonPayload.outcome=\"refused\""

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }

  depends_on = [time_sleep.services]
}

# An alert on a metric that was made a moment ago is refused with 404 for up to ten minutes:
# https://github.com/hashicorp/terraform-provider-google/issues/11102. Meanwhile the database is made.
resource "time_sleep" "metrics" {
  create_duration = "600s"
  triggers        = { metrics = join(" ", sort([for metric in concat(values(google_logging_metric.events), [google_logging_metric.refused]) : metric.name])) }
}

resource "google_monitoring_dashboard" "this" {
  dashboard_json = jsonencode({
    displayName = "Mnemosyne (${var.name})"
    mosaicLayout = {
      columns = 12
      tiles = [
        for index, chart in [
          { title = "Accepted, stored, failed", events = ["ingest_accepted", "ingest_outcome", "ingest_failed", "dead_lettered"] },
          { title = "Searches, degraded and throttled", events = ["searched", "search_degraded", "embedding_throttled"] },
          { title = "Faults", events = ["push_postponed", "push_crashed", "tool_crashed", "tool_unavailable", "database_unreachable"] },
          { title = "Audit", events = ["audit", "authentication_unavailable", "misconfigured"] },
          ] : merge(
          # The API leaves zeros out of what it answers, and the next plan would differ.
          index % 2 == 0 ? {} : { xPos = 6 },
          index < 2 ? {} : { yPos = 4 * floor(index / 2) },
          {
            width  = 6
            height = 4
            widget = {
              title = chart.title
              xyChart = {
                dataSets = [for event in chart.events : {
                  plotType       = "LINE"
                  legendTemplate = event
                  timeSeriesQuery = {
                    timeSeriesFilter = {
                      filter      = "metric.type = \"logging.googleapis.com/user/${var.name}/${event}\" AND ${local.of_run}"
                      aggregation = { alignmentPeriod = "60s", perSeriesAligner = "ALIGN_RATE", crossSeriesReducer = "REDUCE_SUM" }
                    }
                  }
                }]
              }
            }
        })
      ]
    }
  })

  depends_on = [google_logging_metric.events]
}
