# Work that the function migrate does at regular times.

locals {
  schedules = merge(
    {
      # Expired memories are invisible at once. This job removes their rows.
      expire = { schedule = "*/15 * * * *", deadline = "600s", description = "Removes the rows of expired memories." }
    },
    var.outcomes ? {
      announce = {
        schedule    = "* * * * *"
        deadline    = "180s"
        description = "Publishes the changes of memories in namespaces with a change feed."
      }
    } : {},
  )
}

resource "google_cloud_scheduler_job" "migrate" {
  for_each         = local.schedules
  project          = var.project
  name             = "${var.name}-${each.key}"
  region           = var.region
  description      = each.value.description
  schedule         = each.value.schedule
  time_zone        = "Etc/UTC"
  attempt_deadline = each.value.deadline

  # A failed run is not repeated, because the next run does the same work.
  retry_config {
    retry_count = 0
  }

  http_target {
    http_method = "POST"
    uri         = "${local.urls["migrate"]}/${each.key}"
    body        = base64encode("{}")
    headers     = { "Content-Type" = "application/json" }

    oidc_token {
      service_account_email = google_service_account.workflow.email
      audience              = local.urls["migrate"]
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.migrate, google_project_iam_member.agents]
}
