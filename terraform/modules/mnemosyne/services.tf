# `terraform destroy` does not disable any API, because other parts of the project may use the APIs.

# The Resource Manager API is separate from the other APIs and has its own wait. The project number is read through it,
# and must stay known in later plans that enable other APIs.
resource "google_project_service" "resource_manager" {
  project            = var.project
  service            = "cloudresourcemanager.googleapis.com"
  disable_on_destroy = false
}

resource "time_sleep" "resource_manager" {
  create_duration = "60s"
  depends_on      = [google_project_service.resource_manager]
}

data "google_project" "this" {
  project_id = var.project
  depends_on = [time_sleep.resource_manager]
}

resource "google_project_service" "this" {
  for_each = toset(concat([
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudkms.googleapis.com",
    "cloudscheduler.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "servicenetworking.googleapis.com",
    "sqladmin.googleapis.com",
    "storage.googleapis.com",
    "workflows.googleapis.com",
    "workflowexecutions.googleapis.com",
    ],
    var.billing_account == "" ? [] : ["billingbudgets.googleapis.com"],
    var.reranking_model == "" ? [] : ["discoveryengine.googleapis.com"],
    var.iap ? ["iap.googleapis.com"] : [],
    var.psc ? ["dns.googleapis.com"] : [],
  ))

  project            = var.project
  service            = each.key
  disable_on_destroy = false

  depends_on = [google_project_service.resource_manager]
}

# For up to a minute after it was enabled, an API answers SERVICE_DISABLED:
# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/google_project_service
resource "time_sleep" "services" {
  create_duration = "60s"
  triggers        = { services = join(" ", sort(keys(google_project_service.this))) }
  depends_on      = [google_project_service.this]
}

# Google creates the account of a service (its service agent) when the service first needs the account. Until then
# Google refuses a grant to the account, and a workflow fails with "Workflows service agent does not exist".
resource "google_project_service_identity" "agents" {
  for_each = toset(concat(
    ["cloudscheduler", "pubsub", "workflows"],
    var.network == null ? [] : ["run"],
    var.kms_key == null ? [] : ["artifactregistry", "cloudfunctions", "run", "secretmanager", "sqladmin"],
  ))
  provider   = google-beta
  project    = var.project
  service    = "${each.key}.googleapis.com"
  depends_on = [time_sleep.services]
}

locals {
  project_number = var.project_number == "" ? data.google_project.this.number : var.project_number
  labels         = merge({ app = "mnemosyne", deployment = var.name }, var.labels)

  # Cloud Run serves each function at this second address. The address is known before the function exists:
  # https://cloud.google.com/run/docs/triggering/https-request#deterministic
  urls = {
    for name in ["mcp", "ingest", "dead-letter", "import-object", "auth", "migrate"] :
    name => "https://${var.name}-${name}-${local.project_number}.${var.region}.run.app"
  }
}
