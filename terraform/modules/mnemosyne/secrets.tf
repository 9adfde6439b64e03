# Made anew at every run and kept in no state: only the run that raises the version writes it anywhere.
ephemeral "random_password" "owner" {
  length  = 40
  special = false
}

resource "google_secret_manager_secret" "owner_password" {
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

  depends_on = [google_kms_crypto_key_iam_member.agents, time_sleep.services]
}

resource "google_secret_manager_secret_version" "owner_password" {
  secret                 = google_secret_manager_secret.owner_password.id
  secret_data_wo         = ephemeral.random_password.owner.result
  secret_data_wo_version = var.owner_password_version

  # One run writes the password in both places, this one right after the other. Where it is interrupted in between,
  # migrate says "password authentication failed": raise owner_password_version.
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
