# Expired memories are invisible at once. This job removes their rows.
resource "google_cloud_scheduler_job" "expire" {
  project          = var.project
  name             = "${var.name}-expire"
  region           = var.region
  description      = "Removes the rows of expired memories."
  schedule         = "*/15 * * * *"
  time_zone        = "Etc/UTC"
  attempt_deadline = "600s"

  # A failed run is not repeated, because the next run removes the same rows.
  retry_config {
    retry_count = 0
  }

  http_target {
    http_method = "POST"
    uri         = "${local.urls["migrate"]}/expire"
    body        = base64encode("{}")
    headers     = { "Content-Type" = "application/json" }

    oidc_token {
      service_account_email = google_service_account.workflow.email
      audience              = local.urls["migrate"]
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.migrate, google_project_service_identity.agents]
}
