# Tests of the rights to call functions and to use resources. tests/terraform runs them with the real schema of the
# provider and with mocked values.

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
  project        = "my-project"
  project_number = "123456789012"
}

run "with_keys_all_users_can_call_only_mcp" {
  command = plan

  assert {
    condition     = toset(keys(google_cloud_run_v2_service_iam_member.mcp)) == toset(["allUsers"])
    error_message = "With keys, mcp identifies its callers itself."
  }
  assert {
    condition = alltrue([
      for function in [google_cloudfunctions2_function.serving["ingest"], google_cloudfunctions2_function.serving["dead-letter"], google_cloudfunctions2_function.migrate] :
      function.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"
    ])
    error_message = "Only mcp accepts calls from outside the project."
  }
  assert {
    condition     = google_cloudfunctions2_function.serving["mcp"].service_config[0].ingress_settings == "ALLOW_ALL"
    error_message = "mcp must accept calls from everywhere."
  }
}

run "with_iam_only_the_invokers_can_call_mcp" {
  command = plan

  variables {
    auth_mode = "iam"
    invokers  = ["user:ada@example.com"]
  }

  assert {
    condition     = toset(keys(google_cloud_run_v2_service_iam_member.mcp)) == toset(["user:ada@example.com"])
    error_message = "With iam, unauthenticated calls are refused."
  }
}

run "with_no_invoker_check_nothing_is_granted_to_all_users" {
  command = plan

  variables {
    open_by = "no_invoker_check"
  }

  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.mcp) == 0
    error_message = "The grant would fail at the end of the apply."
  }
  assert {
    condition     = output.open_commands == ["gcloud run services update mnemosyne-mcp --project=my-project --region=europe-west1 --no-invoker-iam-check"]
    error_message = "The operator needs the command that opens mcp."
  }
}

run "with_a_grant_to_all_users_no_gcloud_command_is_printed" {
  command = plan

  assert {
    condition     = output.open_commands == []
    error_message = "allUsers may call mcp already."
  }
}

run "oidc_needs_its_issuer" {
  command = plan

  variables {
    auth_mode = "oidc"
  }

  expect_failures = [var.oidc_audience, var.oidc_issuer]
}

run "neither_database_nor_archive_is_public" {
  command = plan

  assert {
    condition     = google_sql_database_instance.this.settings[0].ip_configuration[0].ipv4_enabled == false
    error_message = "The database must not have a public address."
  }
  assert {
    condition = alltrue([
      for function in [google_cloudfunctions2_function.serving["mcp"], google_cloudfunctions2_function.serving["ingest"], google_cloudfunctions2_function.serving["dead-letter"], google_cloudfunctions2_function.migrate] :
      length(function.service_config[0].direct_vpc_network_interface) == 1
    ])
    error_message = "Every function connects to the database through the network."
  }
  assert {
    condition     = google_storage_bucket.source.public_access_prevention == "enforced"
    error_message = "Nobody else can read the archive."
  }
}

run "with_a_domain_the_run_app_address_stays_open_until_domain_only_is_set" {
  command = plan

  variables {
    domain = "memory.example.com"
  }

  assert {
    condition     = google_cloudfunctions2_function.serving["mcp"].service_config[0].ingress_settings == "ALLOW_ALL"
    error_message = "Until the certificate is ACTIVE, mcp would be unreachable."
  }
}

run "iap_closes_the_run_app_address" {
  command = plan

  variables {
    domain      = "memory.example.com"
    iap         = true
    iap_clients = ["123456789012-abc.apps.googleusercontent.com"]
  }

  assert {
    condition     = google_cloudfunctions2_function.serving["mcp"].service_config[0].ingress_settings == "ALLOW_INTERNAL_AND_GCLB"
    error_message = "Calls that bypass the load balancer are refused."
  }
  assert {
    condition     = strcontains(google_cloudfunctions2_function.serving["mcp"].service_config[0].environment_variables["MNEMOSYNE_ALLOWED_HOSTS"], "memory.example.com")
    error_message = "mcp must accept its domain as host."
  }
  assert {
    condition     = google_compute_backend_service.mcp[0].iap[0].enabled
    error_message = "Identity-Aware Proxy is on."
  }
  assert {
    condition = (
      google_iap_settings.mcp[0].name == "projects/123456789012/iap_web/compute/services/mnemosyne-mcp" &&
      google_iap_settings.mcp[0].access_settings[0].oauth_settings[0].programmatic_clients[0] == "123456789012-abc.apps.googleusercontent.com"
    )
    error_message = "Without the clients, the proxy refuses the tokens of people that MCP clients send."
  }
}

run "with_iam_and_domain_only_the_check_sends_the_audience_that_cloud_run_and_mcp_accept" {
  command = plan

  variables {
    auth_mode   = "iam"
    domain      = "memory.example.com"
    domain_only = true
  }

  override_data {
    target = data.http.domain
    values = { response_body = "{\"Answer\": [{\"data\": \"192.0.2.1\"}]}" }
  }
  override_resource {
    target          = google_compute_global_address.mcp
    override_during = plan
    values          = { address = "192.0.2.1" }
  }

  assert {
    condition     = yamldecode(google_workflows_workflow.check.source_contents).main.steps[0].begin.assign[2].checks[0].audience == "https://mnemosyne-mcp-123456789012.europe-west1.run.app"
    error_message = "Cloud Run accepts no token for the domain."
  }
  assert {
    condition     = google_cloudfunctions2_function.serving["mcp"].service_config[0].environment_variables["MNEMOSYNE_PUSH_AUDIENCE"] == "https://mnemosyne-mcp-123456789012.europe-west1.run.app"
    error_message = "mcp refuses a token with another audience, so every check of the deployment would fail."
  }
}

run "with_a_key_builds_read_the_copies_of_the_archive_that_are_encrypted_with_it" {
  command = plan

  variables {
    kms_key = "projects/keys/locations/europe-west1/keyRings/r/cryptoKeys/k"
  }

  assert {
    condition     = endswith(google_project_iam_member.build_sources.condition[0].expression, " || resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-123456789012-europe-west1-\")")
    error_message = "The name of their bucket ends in a hash of the key, so that every build would fail."
  }
}
