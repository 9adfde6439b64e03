locals {
  # The log events that the metric `events` counts. A test checks that the code logs each of these events.
  events = [
    "audit",
    "authentication_unavailable",
    "canary_failed",
    "canary_passed",
    "database_unreachable",
    "dead_lettered",
    "embedding_throttled",
    "ingest_outcome",
    "key_expires_soon",
    "message_refused",
    "operator_needed",
    "push_crashed",
    "push_postponed",
    "quota_exceeded",
    "search_degraded",
    "searched",
    "tool_called",
  ]
  event_labels = {
    event   = { extractor = "EXTRACT(jsonPayload.event)", description = "Name of the log event." }
    outcome = { extractor = "EXTRACT(jsonPayload.outcome)", description = "Outcome of tool_called (done, dry_run, refused, uncertain, unavailable, misconfigured, crashed) and of audit." }
    tool    = { extractor = "EXTRACT(jsonPayload.tool)", description = "Tool of tool_called." }
    state   = { extractor = "EXTRACT(jsonPayload.state)", description = "State of ingest_outcome." }
    cause   = { extractor = "EXTRACT(jsonPayload.cause)", description = "Cause of a fault, without ids." }
    # Only these three reasons become values of the label. All other reasons are sentences, and there are too many
    # different sentences for a label.
    reason = { extractor = "REGEXP_EXTRACT(jsonPayload.reason, \"^(rate|concurrency|database)$\")", description = "The limit by which a call was refused, from the field reason of the event audit." }
  }

  # Each of these metrics is the distribution of a number in a log event: of the field `field` of the event `event`. The
  # limits of the histogram's buckets begin at `scale` and double from bucket to bucket. `only` restricts the functions
  # whose events count. For example, `lag` leaves out import-object, because its pushes store no memory and last until
  # the whole object is imported.
  distributions = {
    lag = {
      event       = "push_handled", field = "lag_ms", unit = "ms", scale = 50, label = "function"
      only        = " AND resource.labels.service_name=(\"${var.name}-ingest\" OR \"${var.name}-dead-letter\")"
      extractor   = "EXTRACT(resource.labels.service_name)"
      description = "Time from publish to stored: the age of a message when its delivery has succeeded."
    }
    latency = {
      event       = "tool_called", field = "duration_ms", unit = "ms", scale = 5, label = "tool"
      extractor   = "EXTRACT(jsonPayload.tool)"
      description = "Duration of a tool call."
    }
    characters = {
      event       = "ingest_embedded", field = "characters", unit = "1", scale = 100, label = "namespace"
      extractor   = "EXTRACT(jsonPayload.namespace)"
      description = "Characters of the contents that were embedded, without contents that are already stored."
    }
  }

  # The filter compares the whole name of a function, so that the deployment `a` does not count the events of the
  # deployment `a-b`.
  service_names = [for name in ["mcp", "ingest", "dead-letter", "import-object", "auth", "migrate"] : "${var.name}-${name}"]
  of_functions = join(" AND ", [
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=(${join(" OR ", formatlist("\"%s\"", local.service_names))})",
  ])
  metric_type        = "logging.googleapis.com/user/${google_logging_metric.events.name}"
  distribution_types = { for name, metric in google_logging_metric.distributions : name => "logging.googleapis.com/user/${metric.name}" }
}

resource "google_logging_metric" "events" {
  project          = var.project
  name             = "${var.name}/events"
  description      = "Log events of the functions."
  filter           = "${local.of_functions} AND jsonPayload.event=(${join(" OR ", formatlist("\"%s\"", local.events))})"
  label_extractors = { for key, label in local.event_labels : key => label.extractor }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"

    dynamic "labels" {
      for_each = local.event_labels
      content {
        key         = labels.key
        value_type  = "STRING"
        description = labels.value.description
      }
    }
  }

  depends_on = [time_sleep.services]
}

resource "google_logging_metric" "distributions" {
  for_each         = local.distributions
  project          = var.project
  name             = "${var.name}/${each.key}"
  description      = each.value.description
  filter           = "${local.of_functions}${lookup(each.value, "only", "")} AND jsonPayload.event=\"${each.value.event}\""
  value_extractor  = "EXTRACT(jsonPayload.${each.value.field})"
  label_extractors = { (each.value.label) = each.value.extractor }

  bucket_options {
    exponential_buckets {
      num_finite_buckets = 24
      growth_factor      = 2
      scale              = each.value.scale
    }
  }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "DISTRIBUTION"
    unit        = each.value.unit

    labels {
      key        = each.value.label
      value_type = "STRING"
    }
  }

  depends_on = [time_sleep.services]
}

# Metrics of the answers of mcp and auth, the functions that people and clients call. Cloud Run's own metrics cannot
# leave out the calls of /canary, which last until a memory is stored, and which are most of the calls of a deployment
# with few users.
resource "google_logging_metric" "requests" {
  for_each    = { requests = null, request_seconds = "REGEXP_EXTRACT(httpRequest.latency, \"([0-9.]+)s\")" }
  project     = var.project
  name        = "${var.name}/${each.key}"
  description = each.value == null ? "Answers of mcp and auth, without /canary." : "Seconds until mcp and auth had answered, without /canary."
  filter = join(" AND ", [
    "log_id(\"run.googleapis.com/requests\")",
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=(\"${var.name}-mcp\" OR \"${var.name}-auth\")",
    "httpRequest.requestUrl!~\"/canary$\"",
  ])
  value_extractor  = each.value
  label_extractors = { status = "EXTRACT(httpRequest.status)" }

  dynamic "bucket_options" {
    for_each = each.value == null ? [] : [1]
    content {
      exponential_buckets {
        num_finite_buckets = 24
        growth_factor      = 1.5
        scale              = 0.05
      }
    }
  }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = each.value == null ? "INT64" : "DISTRIBUTION"
    unit        = each.value == null ? "1" : "s"

    labels {
      key        = "status"
      value_type = "STRING"
    }
  }

  depends_on = [time_sleep.services]
}

# For up to ten minutes after a metric was created, Cloud Monitoring refuses an alert on it with 404:
# https://github.com/hashicorp/terraform-provider-google/issues/11102. The wait for the metrics runs while the database
# is created.
resource "time_sleep" "metrics" {
  create_duration = "600s"
  triggers = {
    metrics       = google_logging_metric.events.name
    distributions = join(" ", sort([for metric in google_logging_metric.distributions : metric.name]))
    requests      = join(" ", sort([for metric in google_logging_metric.requests : metric.name]))
  }
}
