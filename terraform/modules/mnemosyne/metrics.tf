locals {
  # The log events that the metric counts. A test checks that the code logs each of these events.
  events = [
    "audit",
    "authentication_unavailable",
    "database_unreachable",
    "dead_lettered",
    "embedding_throttled",
    "ingest_accepted",
    "ingest_failed",
    "ingest_outcome",
    "operator_needed",
    "push_crashed",
    "push_postponed",
    "quota_exceeded",
    "search_degraded",
    "searched",
    "tool_crashed",
    "tool_unavailable",
  ]

  # The filter compares the whole name of a function, so that the deployment `a` does not count the events of the
  # deployment `a-b`.
  service_names = [for name in ["mcp", "ingest", "dead-letter", "import-object", "auth", "migrate"] : "${var.name}-${name}"]
  metric_type   = "logging.googleapis.com/user/${google_logging_metric.events.name}"
}

resource "google_logging_metric" "events" {
  project     = var.project
  name        = "${var.name}/events"
  description = "Log events of the functions, by event and by outcome if the event has one."
  filter = join(" AND ", [
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=(${join(" OR ", formatlist("\"%s\"", local.service_names))})",
    "jsonPayload.event=(${join(" OR ", formatlist("\"%s\"", local.events))})",
  ])

  label_extractors = {
    event   = "EXTRACT(jsonPayload.event)"
    outcome = "EXTRACT(jsonPayload.outcome)"
  }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"

    labels {
      key         = "event"
      value_type  = "STRING"
      description = "Name of the log event."
    }
    labels {
      key         = "outcome"
      value_type  = "STRING"
      description = "done or refused, of audit events."
    }
  }

  depends_on = [time_sleep.services]
}

# For up to ten minutes after a metric was created, Cloud Monitoring refuses an alert on it with 404:
# https://github.com/hashicorp/terraform-provider-google/issues/11102. The wait for the metric runs while the database
# is created.
resource "time_sleep" "metrics" {
  create_duration = "600s"
  triggers        = { metrics = google_logging_metric.events.name }
}

resource "google_monitoring_dashboard" "this" {
  project = var.project
  dashboard_json = jsonencode({
    displayName = "Mnemosyne (${var.name})"
    mosaicLayout = {
      columns = 12
      tiles = [
        for index, chart in [
          { title = "Accepted, stored, failed", events = ["ingest_accepted", "ingest_outcome", "ingest_failed", "dead_lettered"] },
          { title = "Searches, degraded and throttled", events = ["searched", "search_degraded", "embedding_throttled"] },
          { title = "Faults", events = ["push_postponed", "push_crashed", "tool_crashed", "tool_unavailable", "database_unreachable"] },
          { title = "Audit", events = ["audit", "authentication_unavailable", "operator_needed"] },
          ] : merge(
          # The API omits zeros from its answers. So a zero here would appear as a difference in every plan.
          index % 2 == 0 ? {} : { xPos = 6 },
          index < 2 ? {} : { yPos = 4 * floor(index / 2) },
          {
            width  = 6
            height = 4
            widget = {
              title = chart.title
              xyChart = {
                dataSets = [{
                  plotType       = "LINE"
                  legendTemplate = "$${metric.labels.event}"
                  timeSeriesQuery = {
                    timeSeriesFilter = {
                      filter = "metric.type = \"${local.metric_type}\" AND ${local.of_run} AND metric.labels.event = one_of(${join(", ", formatlist("\"%s\"", chart.events))})"
                      aggregation = {
                        alignmentPeriod    = "60s"
                        perSeriesAligner   = "ALIGN_RATE"
                        crossSeriesReducer = "REDUCE_SUM"
                        groupByFields      = ["metric.label.event"]
                      }
                    }
                  }
                }]
              }
            }
        })
      ]
    }
  })
}
