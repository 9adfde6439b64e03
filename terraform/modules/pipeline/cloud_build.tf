# There are two triggers, one for tests and one for the deployment, because all steps of a build run as one account. The
# tests run the code of a commit and of its development dependencies, so their account must not have the right to
# deploy.

resource "google_service_account" "test" {
  count        = local.on_cloud_build
  project      = var.project
  account_id   = "${var.deployment}-test"
  display_name = "Mnemosyne: the pipeline tests as this account"
  depends_on   = [google_project_service.this]
}

resource "google_project_iam_member" "test" {
  count   = local.on_cloud_build
  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.test[0].member
}

# The secret for the API key of the smoke test. docs/deployment.md has the command that adds the key, so the key is
# never in Terraform's state.
resource "google_secret_manager_secret" "smoke_key" {
  count     = local.on_cloud_build
  project   = var.project
  secret_id = "${var.deployment}-smoke-key"

  # The secret is stored in the region of the deployment and encrypted with kms_key, because the policies of an
  # organization can require both. The deployment has already given Google's service agents the right to use the key.
  replication {
    user_managed {
      replicas {
        location = var.region

        dynamic "customer_managed_encryption" {
          for_each = var.kms_key == null ? [] : [var.kms_key]
          content {
            kms_key_name = customer_managed_encryption.value
          }
        }
      }
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret_iam_member" "smoke_key" {
  count     = local.on_cloud_build
  project   = var.project
  secret_id = google_secret_manager_secret.smoke_key[0].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.deploy.member
}

# At the end of each build, Cloud Build publishes a message to the topic with the name `cloud-builds`:
# https://cloud.google.com/build/docs/subscribe-build-notifications
resource "google_pubsub_topic" "builds" {
  #checkov:skip=CKV_GCP_83: Google's keys encrypt the topic unless kms_key names another key.
  count        = var.create_topic ? local.on_cloud_build : 0
  project      = var.project
  name         = "cloud-builds"
  kms_key_name = var.kms_key
  depends_on   = [google_project_service.this]
}

resource "google_cloudbuild_trigger" "test" {
  count           = local.on_cloud_build
  project         = var.project
  location        = var.location
  name            = "${var.deployment}-test"
  description     = "Tests each push to ${var.branch}."
  filename        = "cloudbuild.yaml"
  service_account = google_service_account.test[0].id
  substitutions   = { _TEST_ACCOUNT = google_service_account.test[0].email }

  github {
    owner = split("/", var.repository)[0]
    name  = split("/", var.repository)[1]

    push {
      branch = "^${replace(var.branch, ".", "\\.")}$"
    }
  }

  depends_on = [google_project_iam_member.test]
}

resource "google_cloudbuild_trigger" "deploy" {
  count           = local.on_cloud_build
  project         = var.project
  location        = var.location
  name            = "${var.deployment}-deploy"
  description     = "Deploys a commit that ${var.deployment}-test has passed."
  service_account = google_service_account.deploy.id
  filter          = "_STATUS == \"SUCCESS\" && _TRIGGER == \"${google_cloudbuild_trigger.test[0].trigger_id}\""

  substitutions = {
    _BUILD          = "$(body.message.data.id)"
    _STATUS         = "$(body.message.data.status)"
    _TRIGGER        = "$(body.message.data.buildTriggerId)"
    _LOCATION       = var.location
    _TEST_TRIGGER   = google_cloudbuild_trigger.test[0].trigger_id
    _DEPLOY_ACCOUNT = google_service_account.deploy.email
    _DEPLOYMENT     = var.deployment
    _SMOKE_KEY      = google_secret_manager_secret.smoke_key[0].secret_id
    _STATE_BUCKET   = local.state_bucket
  }

  pubsub_config {
    topic = "projects/${var.project}/topics/cloud-builds"
  }

  source_to_build {
    uri       = "https://github.com/${var.repository}"
    ref       = "refs/heads/${var.branch}"
    repo_type = "GITHUB"
  }

  git_file_source {
    path      = "infra/deploy/cloudbuild.yaml"
    uri       = "https://github.com/${var.repository}"
    revision  = "refs/heads/${var.branch}"
    repo_type = "GITHUB"
  }

  depends_on = [google_project_iam_member.deploy, google_project_iam_member.deploy_grants, google_pubsub_topic.builds]
}
