# The APIs that the rest needs; they stay on when this is destroyed, since others may use them.
resource "google_project_service" "this" {
  for_each = toset(concat([
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudfunctions.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "servicenetworking.googleapis.com",
    "sqladmin.googleapis.com",
    "workflows.googleapis.com",
    "workflowexecutions.googleapis.com",
    ],
    var.billing_account == "" ? [] : ["billingbudgets.googleapis.com"],
    var.iap ? ["iap.googleapis.com"] : [],
    var.psc ? ["dns.googleapis.com"] : [],
  ))

  service            = each.key
  disable_on_destroy = false
}

data "google_project" "this" {
  project_id = var.project
}

locals {
  # Known before the functions are: Cloud Run serves each at this address too.
  urls = {
    for name in ["mcp", "ingest", "dead-letter"] :
    name => "https://${var.name}-${name}-${data.google_project.this.number}.${var.region}.run.app"
  }
}
