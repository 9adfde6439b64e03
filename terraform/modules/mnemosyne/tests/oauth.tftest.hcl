# Tests of the authorization server's resources. tests/terraform runs them.

mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      name   = "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"
      email  = "a@p.iam.gserviceaccount.com"
      member = "serviceAccount:a@p.iam.gserviceaccount.com"
    }
  }
}

mock_provider "google-beta" {}

variables {
  project             = "my-project"
  project_number      = "123456789012"
  domain              = "memory.example.com"
  auth_mode           = "oauth"
  oauth_client_id     = "upstream"
  oauth_client_secret = "secret"
  oauth_people        = [{ who = "@example.com", namespace = "team", scopes = ["read"] }, { who = "groups:Data Science" }]
}

run "mcp_accepts_the_tokens_of_auth_for_each_of_its_addresses" {
  command = plan

  assert {
    condition = alltrue([
      for function in [google_cloudfunctions2_function.serving["mcp"], google_cloudfunctions2_function.serving["auth"]] :
      function.service_config[0].environment_variables["MNEMOSYNE_OAUTH_ISSUER"] == "https://mnemosyne-auth-123456789012.europe-west1.run.app" &&
      function.service_config[0].environment_variables["MNEMOSYNE_OAUTH_RESOURCES"] == "https://mnemosyne-mcp-123456789012.europe-west1.run.app/mcp,https://memory.example.com/mcp"
    ])
    error_message = "Both functions must agree on issuer and resources."
  }
  assert {
    condition     = output.oauth_callback == "https://mnemosyne-auth-123456789012.europe-west1.run.app/callback"
    error_message = "The redirect URI must be the one registered at the identity provider."
  }
}

run "rules_contain_no_null" {
  command = plan

  assert {
    condition     = google_cloudfunctions2_function.serving["auth"].service_config[0].environment_variables["MNEMOSYNE_OAUTH_PEOPLE"] == "[{\"namespace\":\"team\",\"scopes\":[\"read\"],\"who\":\"@example.com\"},{\"who\":\"groups:Data Science\"}]"
    error_message = "The setting does not accept null."
  }
}

run "auth_signs_with_a_key_in_cloud_kms_under_its_own_account" {
  command = plan

  assert {
    condition     = google_kms_crypto_key.tokens[0].purpose == "ASYMMETRIC_SIGN" && google_kms_crypto_key.tokens[0].version_template[0].algorithm == "EC_SIGN_P256_SHA256"
    error_message = "Tokens are signed with ES256."
  }
  assert {
    condition     = contains(keys(google_sql_user.functions), "auth") && contains(keys(google_service_account.functions), "auth")
    error_message = "It has its own account and its own database user."
  }
  assert {
    condition     = contains(keys(google_project_service.this), "cloudkms.googleapis.com")
    error_message = "Cloud KMS must be enabled."
  }
}

run "the_connections_of_auth_are_counted" {
  command = plan

  assert {
    condition     = output.connections_needed == 75 + 8
    error_message = "Its instances hold connections."
  }
}

run "with_keys_only_no_oauth_resource_exists" {
  command = plan

  variables {
    auth_mode           = "api_key"
    oauth_client_id     = ""
    oauth_client_secret = null
    oauth_people        = []
  }

  assert {
    condition     = (contains(keys(google_cloudfunctions2_function.serving), "auth") ? 1 : 0) + length(google_kms_key_ring.tokens) + length(google_secret_manager_secret.oauth_client) == 0
    error_message = "It costs nothing unless it is used."
  }
}

run "oauth_needs_a_client_and_people" {
  command = plan

  variables {
    oauth_client_id = ""
    oauth_people    = []
  }

  expect_failures = [var.oauth_client_id, var.oauth_people]
}

run "a_rule_that_matches_no_person_is_refused" {
  command = plan

  variables {
    oauth_people = [{ who = "example.com" }]
  }

  expect_failures = [var.oauth_people]
}

run "an_unknown_scope_is_refused" {
  command = plan

  variables {
    oauth_people = [{ who = "*", scopes = ["admin"] }]
  }

  expect_failures = [var.oauth_people]
}

run "iap_is_refused_because_clients_cannot_pass_it" {
  command = plan

  variables {
    iap = true
  }

  expect_failures = [var.iap]
}
