# The password is an ephemeral value. Every run generates a new one, but only a run with a higher
# owner_password_version writes it.
ephemeral "random_password" "owner" {
  length  = 40
  special = false
}

resource "google_secret_manager_secret" "owner_password" {
  project   = var.project
  secret_id = "${var.name}-owner-password"
  labels    = local.labels

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

  lifecycle {
    prevent_destroy = true
  }

  depends_on = [time_sleep.key_grants]
}

# A user that is created again, for example in a new instance, gets a new password, so the secret needs a new version.
# In a plan that creates the user, the user's id is unknown. So this resource then changes, and Terraform replaces the
# version of the secret.
resource "terraform_data" "owner" {
  input = google_sql_user.owner.id
}

resource "google_secret_manager_secret_version" "owner_password" {
  project                = var.project
  secret                 = google_secret_manager_secret.owner_password.id
  secret_data_wo         = ephemeral.random_password.owner.result
  secret_data_wo_version = var.owner_password_version

  # A run writes the password to the database first, then to a new version of the secret, and destroys the old version
  # after the function migrate uses the new one. If the run is interrupted between database and secret, the migration
  # fails with "password authentication failed". Then raise owner_password_version.
  depends_on = [google_sql_user.owner]

  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [terraform_data.owner]
  }
}

resource "google_secret_manager_secret_iam_member" "owner_password" {
  project   = var.project
  secret_id = google_secret_manager_secret.owner_password.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.functions["migrate"].member
}

# The operator creates this secret, which has the key of the Gemini API.
resource "google_secret_manager_secret_iam_member" "gemini_api_key" {
  for_each  = var.gemini_api_key_secret == "" ? toset([]) : toset(local.embedding_functions)
  project   = var.project
  secret_id = var.gemini_api_key_secret
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.functions[each.key].member

  lifecycle {
    create_before_destroy = true # see google_project_iam_member.functions
  }
}
