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
    length(var.buckets) == 0 ? [] : ["storage.googleapis.com"],
    var.billing_account == "" ? [] : ["billingbudgets.googleapis.com"],
    var.reranking_model == "" ? [] : ["discoveryengine.googleapis.com"],
    var.iap ? ["iap.googleapis.com"] : [],
    var.psc ? ["dns.googleapis.com"] : [],
    var.kms_key == null && var.auth_mode != "oauth" ? [] : ["cloudkms.googleapis.com"],
  ))

  service            = each.key
  disable_on_destroy = false
}

# An API is not usable at once when enabling it returns, and says SERVICE_DISABLED meanwhile:
# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/google_project_service
resource "time_sleep" "services" {
  create_duration = "60s"
  triggers        = { services = join(" ", sort(keys(google_project_service.this))) }
  depends_on      = [google_project_service.this]
}

# Google makes the accounts under which its services act for us when it first needs them, and a grant to one that is not
# there yet is refused, as is a workflow without one: "Workflows service agent does not exist".
resource "terraform_data" "service_agents" {
  for_each         = toset(concat(["pubsub", "workflows"], var.network == null ? [] : ["run"], var.kms_key == null ? [] : ["artifactregistry", "cloudfunctions", "run", "secretmanager", "sqladmin"]))
  triggers_replace = [var.project]

  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    environment = {
      PROJECT = var.project
      SERVICE = "${each.key}.googleapis.com"
    }
    command = "gcloud beta services identity create --service=\"$SERVICE\" --project=\"$PROJECT\" --quiet"
  }

  depends_on = [time_sleep.services]
}

data "google_project" "this" {
  project_id = var.project
}

locals {
  labels = merge({ app = "mnemosyne", deployment = var.name }, var.labels)

  # Known before the functions are: Cloud Run serves each at this address too.
  urls = {
    for name in ["mcp", "ingest", "dead-letter", "import-object", "auth", "migrate"] :
    name => "https://${var.name}-${name}-${data.google_project.this.number}.${var.region}.run.app"
  }
}
