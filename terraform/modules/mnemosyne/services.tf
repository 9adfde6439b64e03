# `terraform destroy` does not disable any API, because other parts of the project may use the APIs.

# The Resource Manager API is separate from the other APIs and has its own wait. Terraform reads the project number
# through this API. If the project number depended on the other APIs, a plan that enables one of them would not know the
# number.
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

# Accounts and roles of Google's service agents: https://cloud.google.com/iam/docs/service-agents. The agent of Secret
# Manager has no role.
locals {
  agents = {
    artifactregistry = { account = "gcp-sa-artifactregistry", role = "roles/artifactregistry.serviceAgent" }
    cloudfunctions   = { account = "gcf-admin-robot", role = "roles/cloudfunctions.serviceAgent" }
    cloudscheduler   = { account = "gcp-sa-cloudscheduler", role = "roles/cloudscheduler.serviceAgent" }
    pubsub           = { account = "gcp-sa-pubsub", role = "roles/pubsub.serviceAgent" }
    run              = { account = "serverless-robot-prod", role = "roles/run.serviceAgent" }
    secretmanager    = { account = "gcp-sa-secretmanager", role = null }
    sqladmin         = { account = "gcp-sa-cloud-sql", role = "roles/cloudsql.serviceAgent" }
    workflows        = { account = "gcp-sa-workflows", role = "roles/workflows.serviceAgent" }
  }
  agent_members = {
    for service, agent in local.agents :
    service => "serviceAccount:service-${local.project_number}@${agent.account}.iam.gserviceaccount.com"
  }
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

# Google gives no role to an agent that is created on request: https://cloud.google.com/iam/docs/create-service-agents.
# Other resources of the project use the same agents, so `make destroy` leaves these grants.
resource "google_project_iam_member" "agents" {
  for_each = toset([for service in keys(google_project_service_identity.agents) : service if local.agents[service].role != null])
  project  = var.project
  role     = local.agents[each.key].role
  member   = local.agent_members[each.key]
}

locals {
  project_number = var.project_number == "" ? data.google_project.this.number : var.project_number
  labels         = merge({ app = "mnemosyne", deployment = var.name }, var.labels)

  # In addition to the address that Google generates, Cloud Run serves each function at this address. The address is
  # known before the function exists: https://cloud.google.com/run/docs/triggering/https-request#deterministic
  urls = {
    for name in ["mcp", "ingest", "dead-letter", "import-object", "auth", "migrate"] :
    name => "https://${var.name}-${name}-${local.project_number}.${var.region}.run.app"
  }
}
