# What a first apply, an operator or an auditor would stumble over on the real platform. Run through the checker.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
  mock_resource "google_service_account" {
    defaults = {
      name   = "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"
      email  = "a@p.iam.gserviceaccount.com"
      member = "serviceAccount:a@p.iam.gserviceaccount.com"
    }
  }
}

override_resource {
  target = terraform_data.migrated
}

override_resource {
  target = terraform_data.service_agents
}

variables {
  project = "my-project"
}

run "no_statement_is_logged_with_its_parameters" {
  command = plan

  assert {
    condition = alltrue([
      for flag in google_sql_database_instance.this.settings[0].database_flags :
      !contains(["log_min_duration_statement", "log_statement", "log_duration", "log_parameter_max_length", "cloudsql.enable_pgaudit"], flag.name)
    ])
    error_message = "Parameters are memories and questions."
  }
  assert {
    condition     = contains([for flag in google_sql_database_instance.this.settings[0].database_flags : "${flag.name}=${flag.value}"], "log_error_verbosity=terse")
    error_message = "The detail of an error may be a whole row."
  }
}

run "a_peering_that_an_earlier_deployment_left_is_taken_over" {
  command = plan

  assert {
    condition     = google_service_networking_connection.services[0].update_on_creation_fail && google_service_networking_connection.services[0].deletion_policy == "ABANDON"
    error_message = "Making it anew fails otherwise, and it cannot be removed while Google keeps the database's remains."
  }
}

run "what_is_replaced_in_the_source_bucket_goes_and_what_is_used_stays" {
  command = plan

  assert {
    condition     = one(one(google_storage_bucket.source.lifecycle_rule).condition).days_since_noncurrent_time == 30
    error_message = "Each archive has a name of its own: counting newer versions would never match one."
  }
}

run "builds_read_the_sources_and_not_the_state" {
  command = plan

  assert {
    condition     = strcontains(google_project_iam_member.build_sources.condition[0].expression, "my-project-mnemosyne-source") && !strcontains(google_project_iam_member.build_sources.condition[0].expression, "-terraform")
    error_message = "The state is in another bucket."
  }
  assert {
    condition     = toset(keys(google_project_iam_member.build)) == toset(["roles/logging.logWriter"])
    error_message = "In the whole project a build may write its log, and nothing else."
  }
  assert {
    condition     = toset(google_artifact_registry_repository.images.cleanup_policies[*].action) == toset(["KEEP", "DELETE"])
    error_message = "Old images go, the last ones stay."
  }
}

run "what_is_not_there_at_once_is_waited_for" {
  command = plan

  assert {
    condition     = time_sleep.services.create_duration == "60s" && time_sleep.metrics.create_duration == "600s" && time_sleep.build_grants.create_duration == "120s"
    error_message = "An API is usable a while after it is enabled, and a metric known a while after it is made."
  }
  assert {
    condition     = toset(keys(terraform_data.service_agents)) == toset(["pubsub", "workflows"])
    error_message = "Google's own accounts are made before they are granted anything, and before a workflow needs one."
  }
}

run "the_place_where_vertex_embeds_may_be_another" {
  command = plan

  variables {
    vertex_location = "eu"
  }

  assert {
    condition     = google_cloudfunctions2_function.ingest.service_config[0].environment_variables["GOOGLE_CLOUD_LOCATION"] == "eu"
    error_message = "Not every region has every model."
  }
}

run "a_key_of_ones_own_encrypts_all_that_holds_something" {
  command = plan

  variables {
    kms_key = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
  }

  assert {
    condition = toset([
      google_sql_database_instance.this.encryption_key_name,
      google_pubsub_topic.ingest.kms_key_name,
      google_pubsub_topic.dead_letter.kms_key_name,
      google_secret_manager_secret.owner_password.replication[0].user_managed[0].replicas[0].customer_managed_encryption[0].kms_key_name,
      google_storage_bucket.source.encryption[0].default_kms_key_name,
      google_artifact_registry_repository.images.kms_key_name,
      google_cloudfunctions2_function.mcp.kms_key_name,
      google_cloudfunctions2_function.ingest.kms_key_name,
      google_cloudfunctions2_function.dead_letter.kms_key_name,
      google_cloudfunctions2_function.migrate.kms_key_name,
    ]) == toset([var.kms_key])
    error_message = "None of them may be left to Google's keys."
  }
}

run "a_reranker_may_be_asked_by_mcp_alone" {
  command = plan

  variables {
    reranking_model = "semantic-ranker-fast-004"
  }

  assert {
    condition     = google_cloudfunctions2_function.mcp.service_config[0].environment_variables["MNEMOSYNE_RERANKING_MODEL"] == "semantic-ranker-fast-004"
    error_message = "mcp must know which model orders what it finds."
  }

  assert {
    condition     = [for name, member in google_project_iam_member.functions : name if member.role == "roles/discoveryengine.viewer"] == ["mcp discoveryengine.viewer"]
    error_message = "mcp must be allowed to rank, and nobody else."
  }

  assert {
    condition     = contains(keys(google_project_service.this), "discoveryengine.googleapis.com")
    error_message = "The ranking API must be on."
  }
}

run "without_a_reranker_nothing_of_it_is_there" {
  command = plan

  assert {
    condition     = !contains(keys(google_project_service.this), "discoveryengine.googleapis.com") && !contains([for member in values(google_project_iam_member.functions) : member.role], "roles/discoveryengine.viewer") && !contains(keys(google_cloudfunctions2_function.mcp.service_config[0].environment_variables), "MNEMOSYNE_RERANKING_MODEL")
    error_message = "What is not asked for is neither on nor allowed."
  }
}
