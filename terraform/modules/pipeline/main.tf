# The accounts of the pipeline and their rights. Run `make deploy` once before you apply this module, because it
# creates the buckets.

locals {
  state_bucket   = coalesce(var.state_bucket, "${var.project}-terraform")
  on_cloud_build = var.runner == "cloud_build" ? 1 : 0
  on_github      = var.runner == "github_actions" ? 1 : 0

  deploy_roles = concat(
    [
      "roles/artifactregistry.admin",
      "roles/cloudkms.admin",
      "roles/cloudfunctions.admin",
      "roles/cloudscheduler.admin",
      "roles/cloudsql.admin",
      "roles/compute.networkAdmin",
      "roles/iam.serviceAccountAdmin",
      "roles/iam.serviceAccountUser",
      "roles/logging.configWriter",
      "roles/monitoring.admin",
      "roles/pubsub.admin",
      "roles/run.admin",
      "roles/secretmanager.admin",
      "roles/serviceusage.serviceUsageAdmin",
      "roles/workflows.admin",
    ],
    # A build writes its own log, and reads the result of the tests from Cloud Build.
    var.runner == "cloud_build" ? ["roles/cloudbuild.builds.viewer", "roles/logging.logWriter"] : [],
    contains(var.features, "domain") || contains(var.features, "iap") ? ["roles/compute.loadBalancerAdmin", "roles/compute.securityAdmin"] : [],
    contains(var.features, "iap") ? ["roles/iap.admin", "roles/iap.settingsAdmin"] : [],
    contains(var.features, "psc") ? ["roles/dns.admin"] : [],
  )

  # The roles in the project that the deployment grants to its own accounts and to Google's service agents. Google
  # refuses a condition with a list of more than ten roles, so there are two lists.
  granted_roles = [
    "roles/aiplatform.user",
    "roles/cloudsql.client",
    "roles/cloudsql.instanceUser",
    "roles/discoveryengine.viewer",
    "roles/logging.logWriter",
    "roles/storage.objectViewer",
  ]
  agent_roles = [
    for service in ["artifactregistry", "cloudfunctions", "cloudscheduler", "cloudsql", "pubsub", "run", "workflows"] :
    "roles/${service}.serviceAgent"
  ]
}

resource "google_project_service" "this" {
  for_each           = toset(concat(["iam.googleapis.com", "secretmanager.googleapis.com"], var.runner == "cloud_build" ? ["cloudbuild.googleapis.com", "pubsub.googleapis.com"] : ["iamcredentials.googleapis.com", "sts.googleapis.com"]))
  project            = var.project
  service            = each.key
  disable_on_destroy = false
}

resource "google_service_account" "deploy" {
  project      = var.project
  account_id   = "${var.deployment}-deploy"
  display_name = "Mnemosyne: the pipeline deploys as this account"
  depends_on   = [google_project_service.this]
}

resource "google_project_iam_member" "deploy" {
  for_each = toset(local.deploy_roles)
  project  = var.project
  role     = each.key
  member   = google_service_account.deploy.member
}

# Without this condition the account could grant itself the role of owner:
# https://cloud.google.com/iam/docs/setting-limits-on-granting-roles
resource "google_project_iam_member" "deploy_grants" {
  project = var.project
  role    = "roles/resourcemanager.projectIamAdmin"
  member  = google_service_account.deploy.member

  condition {
    title       = "granted roles"
    description = "Only the roles that a deployment gives to its own accounts and to Google's service agents."
    expression = join(" || ", [
      for roles in [local.granted_roles, local.agent_roles] :
      "api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly([${join(", ", formatlist("'%s'", roles))}])"
    ])
  }
}

# The deploying account has roles on single buckets, and no Cloud Storage role for the whole project. The bucket of
# Terraform's state also contains the states of other deployments, and the state of this module, with which the account
# could change its own rights. So in this bucket, the account may only change the state of its deployment, read the
# deployment's variables, and list the names of objects, because `terraform init` lists them.
resource "google_storage_bucket_iam_member" "state" {
  for_each = {
    "roles/storage.objectUser"   = "resource.name.startsWith(\"projects/_/buckets/${local.state_bucket}/objects/${var.deployment}/\")"
    "roles/storage.objectViewer" = "resource.type == \"storage.googleapis.com/Bucket\" || resource.name == \"projects/_/buckets/${local.state_bucket}/objects/${var.deployment}.tfvars\""
  }
  bucket = local.state_bucket
  role   = each.key
  member = google_service_account.deploy.member

  condition {
    title       = "deployment"
    description = "The state and the variables of the deployment only."
    expression  = each.value
  }
}

resource "google_storage_bucket_iam_member" "source" {
  bucket = "${var.project}-${var.deployment}-source"
  role   = "roles/storage.admin"
  member = google_service_account.deploy.member
}

# This role lets the account change the grants and notifications of a bucket, but not read its objects.
resource "google_storage_bucket_iam_member" "imports" {
  for_each = toset(var.buckets)
  bucket   = each.key
  role     = "roles/storage.legacyBucketOwner"
  member   = google_service_account.deploy.member
}

resource "google_kms_crypto_key_iam_member" "deploy" {
  count         = var.kms_key == null ? 0 : 1
  crypto_key_id = var.kms_key
  role          = "roles/cloudkms.admin"
  member        = google_service_account.deploy.member
}

resource "google_billing_account_iam_member" "deploy" {
  count              = var.billing_account == "" ? 0 : 1
  billing_account_id = var.billing_account
  role               = "roles/billing.costsManager"
  member             = google_service_account.deploy.member
}
