# If kms_key is set, each Google service that encrypts with the key needs the right to use it.
locals {
  key_users = var.kms_key == null ? {} : merge(
    {
      for service in ["artifactregistry", "cloudfunctions", "pubsub", "run", "secretmanager", "sqladmin", "workflows"] :
      service => local.agent_members[service]
    },
    { storage = local.storage_agent },
  )
  storage_agent = "serviceAccount:service-${local.project_number}@gs-project-accounts.iam.gserviceaccount.com"
}

# When Terraform reads this data source, Google creates the service agent of Cloud Storage if it does not exist yet.
data "google_storage_project_service_account" "this" {
  count      = var.kms_key == null && length(var.buckets) == 0 ? 0 : 1
  project    = var.project
  depends_on = [time_sleep.services]
}

resource "google_kms_crypto_key_iam_member" "agents" {
  for_each      = local.key_users
  crypto_key_id = var.kms_key
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = each.value
  depends_on    = [data.google_storage_project_service_account.this, google_project_service_identity.agents]
}

# All resources that are encrypted with the key wait for this resource. For up to two minutes after the grant, Google
# still refuses the use of the key (https://github.com/hashicorp/terraform-provider-google/issues/17333). Without
# kms_key there is no wait.
resource "time_sleep" "key_grants" {
  create_duration = var.kms_key == null ? "0s" : "120s"
  triggers        = { grants = join(" ", [for grant in google_kms_crypto_key_iam_member.agents : grant.id]) }
  depends_on      = [google_project_iam_member.agents, time_sleep.services]
}
