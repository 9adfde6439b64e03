# Tests of the protection of data and of the delivery of messages. tests/terraform runs them.

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

run "the_database_is_protected_and_backed_up" {
  command = plan

  assert {
    condition     = google_sql_database_instance.this.deletion_protection && google_sql_database_instance.this.settings[0].deletion_protection_enabled
    error_message = "Neither Terraform nor a person can delete the database by mistake."
  }
  assert {
    condition = (
      google_sql_database_instance.this.settings[0].backup_configuration[0].enabled &&
      google_sql_database_instance.this.settings[0].backup_configuration[0].point_in_time_recovery_enabled
    )
    error_message = "It can be restored to any second of the last week."
  }
  assert {
    condition     = google_sql_database_instance.this.settings[0].edition == "ENTERPRISE"
    error_message = "From PostgreSQL 16 on, the default edition refuses small tiers."
  }
}

run "pushes_are_authenticated_and_end_in_the_dead_letter_topic" {
  command = plan

  assert {
    condition     = google_pubsub_subscription.ingest.push_config[0].oidc_token[0].audience == google_cloudfunctions2_function.serving["ingest"].service_config[0].environment_variables["MNEMOSYNE_PUSH_AUDIENCE"]
    error_message = "The push must have the audience that the function expects."
  }
  assert {
    condition     = google_pubsub_subscription.dead_letter.push_config[0].oidc_token[0].audience == google_cloudfunctions2_function.serving["dead-letter"].service_config[0].environment_variables["MNEMOSYNE_PUSH_AUDIENCE"]
    error_message = "The push must have the audience that the function expects."
  }
  assert {
    condition = alltrue([
      for name in ["ingest", "dead-letter"] :
      google_cloudfunctions2_function.serving[name].service_config[0].environment_variables["MNEMOSYNE_EMBEDDING_MODEL"] != "" &&
      google_cloudfunctions2_function.serving[name].service_config[0].environment_variables["GOOGLE_GENAI_USE_VERTEXAI"] == "true" &&
      contains(keys(google_project_iam_member.functions), "${name} aiplatform.user")
    ])
    error_message = "dead-letter stores what ingest could not, so it must be able to embed."
  }
  assert {
    condition     = google_pubsub_subscription.ingest.dead_letter_policy[0].max_delivery_attempts == 20
    error_message = "A message becomes a dead letter after twenty deliveries."
  }
  assert {
    condition = (
      google_pubsub_topic_iam_member.agent_forwards.role == "roles/pubsub.publisher" &&
      google_pubsub_subscription_iam_member.agent_acknowledges.role == "roles/pubsub.subscriber" &&
      google_pubsub_subscription_iam_member.agent_acknowledges.member == "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"
    )
    error_message = "Without both grants dead letters are not forwarded."
  }
  assert {
    condition     = google_pubsub_subscription.ingest.ack_deadline_seconds > google_cloudfunctions2_function.serving["ingest"].service_config[0].timeout_seconds
    error_message = "A message must not be delivered again while it is being stored."
  }
  assert {
    condition     = google_pubsub_subscription.ingest.expiration_policy[0].ttl == ""
    error_message = "The subscription must not expire."
  }
}

run "with_an_api_key_no_function_can_use_vertex_ai" {
  command = plan

  variables {
    gemini_api_key_secret = "gemini-key"
  }

  assert {
    condition     = !contains([for member in values(google_project_iam_member.functions) : member.role], "roles/aiplatform.user")
    error_message = "The key replaces the role."
  }
  assert {
    condition     = google_cloudfunctions2_function.serving["ingest"].service_config[0].secret_environment_variables[0].key == "GEMINI_API_KEY"
    error_message = "The key comes from Secret Manager."
  }
}
