# A key of one's own, where kms_key names one: each of Google's services that encrypts with it must be let use it.
locals {
  key_users = var.kms_key == null ? {} : {
    artifactregistry = "service-${data.google_project.this.number}@gcp-sa-artifactregistry.iam.gserviceaccount.com"
    cloudfunctions   = "service-${data.google_project.this.number}@gcf-admin-robot.iam.gserviceaccount.com"
    pubsub           = "service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
    run              = "service-${data.google_project.this.number}@serverless-robot-prod.iam.gserviceaccount.com"
    secretmanager    = "service-${data.google_project.this.number}@gcp-sa-secretmanager.iam.gserviceaccount.com"
    sqladmin         = "service-${data.google_project.this.number}@gcp-sa-cloud-sql.iam.gserviceaccount.com"
    storage          = "service-${data.google_project.this.number}@gs-project-accounts.iam.gserviceaccount.com"
  }
}

# Asking for it makes it, where it is not there yet.
data "google_storage_project_service_account" "this" {
  count      = var.kms_key == null && length(var.buckets) == 0 ? 0 : 1
  depends_on = [time_sleep.services]
}

resource "google_kms_crypto_key_iam_member" "agents" {
  for_each      = local.key_users
  crypto_key_id = var.kms_key
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = "serviceAccount:${each.value}"
  depends_on    = [data.google_storage_project_service_account.this, terraform_data.service_agents]
}
