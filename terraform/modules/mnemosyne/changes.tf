# The function migrate publishes the events of change feeds to the topic of outcomes.
resource "google_cloud_scheduler_job" "announce" {
  count            = var.outcomes ? 1 : 0
  project          = var.project
  name             = "${var.name}-announce"
  region           = var.region
  description      = "Publishes the changes of memories in namespaces with a change feed."
  schedule         = "* * * * *"
  time_zone        = "Etc/UTC"
  attempt_deadline = "180s"

  # A failed run is not repeated, because the next run publishes the same events.
  retry_config {
    retry_count = 0
  }

  http_target {
    http_method = "POST"
    uri         = "${local.urls["migrate"]}/announce"
    body        = base64encode("{}")
    headers     = { "Content-Type" = "application/json" }

    oidc_token {
      service_account_email = google_service_account.workflow.email
      audience              = local.urls["migrate"]
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.migrate, google_project_service_identity.agents]
}
