locals {
  counted = { aligner = "ALIGN_RATE", reducer = "REDUCE_SUM" }
  slowest = { aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX" }
  highest = { aligner = "ALIGN_MAX", reducer = "REDUCE_MAX" }

  # Names of the log metrics in PromQL: https://cloud.google.com/monitoring/promql/promql-mapping
  promql_names = { for name in concat(["events"], keys(local.distributions)) : name => "logging_googleapis_com:user_${replace(var.name, "-", "_")}_${name}" }

  # Each chart shows one line for each combination of the labels in `by`.
  charts = [
    merge(local.slowest, { title = "Publish to stored, 95th percentile in ms", by = ["metric.label.function"], filter = "metric.type = \"${local.distribution_types["lag"]}\" AND ${local.of_run}" }),
    merge(local.highest, { title = "Oldest undelivered message in seconds, by subscription", by = ["resource.label.subscription_id"], filter = "${local.oldest_message} AND resource.labels.subscription_id = monitoring.regex.full_match(\"${var.name}-(ingest|dead-letter|publisher-.+|bucket-.+)\")" }),
    merge(local.counted, { title = "Outcomes by state (duplicates are not embedded again)", by = ["metric.label.state"], filter = "${local.of_events} AND metric.labels.event = \"ingest_outcome\"" }),
    merge(local.counted, { title = "Dead letters by cause", by = ["metric.label.event", "metric.label.cause"], filter = "${local.of_events} AND metric.labels.event = one_of(\"dead_lettered\", \"message_refused\")" }),
    merge(local.counted, { title = "Tool calls by tool", by = ["metric.label.tool"], filter = "${local.of_events} AND metric.labels.event = \"tool_called\"" }),
    merge(local.counted, { title = "Tool calls by outcome", by = ["metric.label.outcome"], filter = "${local.of_events} AND metric.labels.event = \"tool_called\"" }),
    merge(local.slowest, { title = "Latency by tool, 95th percentile in ms", by = ["metric.label.tool"], filter = "metric.type = \"${local.distribution_types["latency"]}\" AND ${local.of_run}" }),
    merge(local.counted, { title = "Searches, degraded and throttled", by = ["metric.label.event"], filter = "${local.of_events} AND metric.labels.event = one_of(\"searched\", \"search_degraded\", \"embedding_throttled\")" }),
    merge(local.counted, { title = "Faults", by = ["metric.label.event", "metric.label.cause"], filter = "${local.of_events} AND metric.labels.event = one_of(\"push_postponed\", \"push_crashed\", \"database_unreachable\", \"operator_needed\", \"authentication_unavailable\", \"canary_failed\")" }),
    merge(local.counted, { title = "Refused calls by reason", by = ["metric.label.reason"], filter = "${local.of_events} AND metric.labels.event = \"audit\" AND metric.labels.outcome = \"refused\"" }),
    { title = "Embedded characters a day, twenty largest namespaces (about four are a token)", promql = "topk(20, sum by (namespace) (increase(${local.promql_names["characters"]}_sum{monitored_resource=\"cloud_run_revision\"}[1d])))" },
    { title = "Share of memories that were already stored and not embedded again", promql = "sum(rate(${local.promql_names["events"]}{monitored_resource=\"cloud_run_revision\",event=\"ingest_outcome\",state=\"duplicate\"}[10m])) / sum(rate(${local.promql_names["events"]}{monitored_resource=\"cloud_run_revision\",event=\"ingest_outcome\"}[10m]))" },
    merge(local.slowest, { title = "Memory of the functions, share of the limit", by = ["resource.label.service_name"], filter = "metric.type = \"run.googleapis.com/container/memory/utilizations\" AND ${local.of_services}" }),
    merge(local.highest, { title = "Database connections", by = [], filter = "metric.type = \"cloudsql.googleapis.com/database/postgresql/num_backends\" AND ${local.of_database}" }),
    merge(local.highest, { title = "Database processor, share", by = [], filter = "metric.type = \"cloudsql.googleapis.com/database/cpu/utilization\" AND ${local.of_database}" }),
  ]
}

resource "google_monitoring_dashboard" "this" {
  project = var.project
  dashboard_json = jsonencode({
    displayName = "Mnemosyne (${var.name})"
    mosaicLayout = {
      columns = 12
      tiles = [
        for index, chart in local.charts : merge(
          # A position of 0 is left out here, because the API omits zeros from its answers. With a zero, every plan
          # would show a change of the dashboard.
          index % 2 == 0 ? {} : { xPos = 6 },
          index < 2 ? {} : { yPos = 4 * floor(index / 2) },
          {
            width  = 6
            height = 4
            widget = {
              title = chart.title
              xyChart = {
                dataSets = [{
                  plotType = "LINE"
                  timeSeriesQuery = merge(
                    can(chart.promql) ? { prometheusQuery = chart.promql } : {},
                    can(chart.filter) ? { timeSeriesFilter = {
                      filter = chart.filter
                      aggregation = merge({
                        alignmentPeriod    = "60s"
                        perSeriesAligner   = chart.aligner
                        crossSeriesReducer = chart.reducer
                      }, length(chart.by) == 0 ? {} : { groupByFields = chart.by })
                    } } : {},
                  )
                }]
              }
            }
        })
      ]
    }
  })
  depends_on = [time_sleep.services]
}
