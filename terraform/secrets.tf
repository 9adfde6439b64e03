locals {
  # Raise it to have a new password for the schema's owner.
  owner_password_version = 1
}

# Made anew at every run and kept in no state: only the run that raises the version writes it anywhere.
ephemeral "random_password" "owner" {
  length  = 40
  special = false
}

resource "google_secret_manager_secret" "owner_password" {
  secret_id = "${var.name}-owner-password"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret_version" "owner_password" {
  secret                 = google_secret_manager_secret.owner_password.id
  secret_data_wo         = ephemeral.random_password.owner.result
  secret_data_wo_version = local.owner_password_version

  # One run writes the password in both places, this one right after the other. Where it is interrupted in between,
  # migrate says "password authentication failed": raise the version above.
  depends_on = [google_sql_user.owner]
}

resource "google_secret_manager_secret_iam_member" "owner_password" {
  secret_id = google_secret_manager_secret.owner_password.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.functions["migrate"].member
}

# A Gemini API key is brought by the operator, into a secret made by hand.
resource "google_secret_manager_secret_iam_member" "gemini_api_key" {
  for_each  = var.gemini_api_key_secret == "" ? toset([]) : toset(["mcp", "ingest"])
  secret_id = var.gemini_api_key_secret
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.functions[each.key].member
}
