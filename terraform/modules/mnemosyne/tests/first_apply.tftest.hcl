# Tests of settings without which Google Cloud would stop a first apply, or would surprise an operator or an auditor.
# tests/terraform runs them.

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
    error_message = "The detail of an error can contain a whole row."
  }
}

run "a_peering_of_an_earlier_deployment_is_adopted" {
  command = plan

  assert {
    condition     = google_service_networking_connection.services[0].update_on_creation_fail && google_service_networking_connection.services[0].deletion_policy == "ABANDON"
    error_message = "Creating it again fails otherwise, and Google refuses to delete it while the database can be restored."
  }
}

run "replaced_source_archives_are_deleted_and_used_ones_are_kept" {
  command = plan

  assert {
    condition     = one(one(google_storage_bucket.source.lifecycle_rule).condition).days_since_noncurrent_time == 30
    error_message = "Each archive has its own name, so that a rule on newer versions never matches."
  }
}

run "builds_read_the_sources_and_not_the_state" {
  command = plan

  assert {
    condition     = google_project_iam_member.build_sources.condition[0].expression == join(" || ", [for bucket in ["my-project-mnemosyne-source", "gcf-v2-sources-123456789012-europe-west1"] : "resource.name == \"projects/_/buckets/${bucket}\" || resource.name.startsWith(\"projects/_/buckets/${bucket}/\")"])
    error_message = "The state is in another bucket. Without a slash, the sources in europe-west10 could be read too."
  }
  assert {
    condition     = toset(keys(google_project_iam_member.build)) == toset(["roles/logging.logWriter"])
    error_message = "A project-wide grant to the build account is for its log only."
  }
  assert {
    condition     = toset(google_artifact_registry_repository.images.cleanup_policies[*].action) == toset(["KEEP", "DELETE"])
    error_message = "Old images are deleted, the last ten are kept."
  }
}

run "the_plan_waits_for_apis_metrics_and_service_agents" {
  command = plan

  assert {
    condition     = time_sleep.services.create_duration == "60s" && time_sleep.metrics.create_duration == "600s" && time_sleep.build_grants.create_duration == "120s"
    error_message = "An API and a metric can be used some time after they were created."
  }
  assert {
    condition     = toset(keys(google_project_service_identity.agents)) == toset(["cloudscheduler", "pubsub", "workflows"])
    error_message = "Google's service agents must exist before they are granted anything, and before a workflow or a schedule needs one."
  }
}

run "text_is_embedded_in_europe_for_a_region_in_europe" {
  command = plan

  variables {
    region = "europe-north2"
  }

  assert {
    condition = toset([
      for function in [google_cloudfunctions2_function.serving["mcp"], google_cloudfunctions2_function.serving["ingest"], google_cloudfunctions2_function.migrate] :
      function.service_config[0].environment_variables["GOOGLE_CLOUD_LOCATION"]
    ]) == toset(["eu"])
    error_message = "A single region may not have the model."
  }
}

run "text_is_embedded_in_the_united_states_for_a_region_there" {
  command = plan

  variables {
    region = "us-west4"
  }

  assert {
    condition     = google_cloudfunctions2_function.migrate.service_config[0].environment_variables["GOOGLE_CLOUD_LOCATION"] == "us"
    error_message = "A single region may not have the model."
  }
}

run "text_is_embedded_anywhere_for_all_other_regions" {
  command = plan

  variables {
    region = "me-central2"
  }

  assert {
    condition     = google_cloudfunctions2_function.migrate.service_config[0].environment_variables["GOOGLE_CLOUD_LOCATION"] == "global"
    error_message = "There is no multi-region for the Middle East."
  }
}

run "the_operator_can_choose_another_location_for_embedding" {
  command = plan

  variables {
    embedding_location = "europe-west4"
    embedding_model    = "gemini-embedding-001"
  }

  assert {
    condition     = google_cloudfunctions2_function.serving["ingest"].service_config[0].environment_variables["GOOGLE_CLOUD_LOCATION"] == "europe-west4"
    error_message = "embedding_location must win over the default."
  }
  assert {
    condition     = contains(keys(google_project_iam_member.functions), "migrate aiplatform.user")
    error_message = "The migration embeds one word to check model and location."
  }
}

run "services_that_use_the_key_wait_for_its_grants" {
  command = plan

  variables {
    kms_key = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
  }

  assert {
    condition     = time_sleep.key_grants.create_duration == "120s"
    error_message = "A service is refused the key for up to two minutes after the grant."
  }
}

run "postgresql_18_gets_no_unknown_flag" {
  command = plan

  variables {
    postgres_version = "POSTGRES_18"
  }

  assert {
    condition     = !contains([for flag in google_sql_database_instance.this.settings[0].database_flags : flag.name], "log_connections")
    error_message = "log_connections is a list in PostgreSQL 18."
  }
}

run "older_postgresql_logs_connections" {
  command = plan

  variables {
    postgres_version = "POSTGRES_16"
  }

  assert {
    condition     = contains([for flag in google_sql_database_instance.this.settings[0].database_flags : "${flag.name}=${flag.value}"], "log_connections=on")
    error_message = "Connections are logged."
  }
}

run "messages_and_backups_stay_in_the_configured_regions" {
  command = plan

  variables {
    message_storage_regions = ["europe-west1", "europe-west4"]
    backup_location         = "eu"
    outcomes                = true
    publishers              = { crm = { namespace = "support", members = [] } }
  }

  assert {
    condition = alltrue([
      for topic in concat([google_pubsub_topic.ingest, google_pubsub_topic.dead_letter], google_pubsub_topic.outcomes, values(google_pubsub_topic.entry)) :
      topic.message_storage_policy[0].allowed_persistence_regions == toset(["europe-west1", "europe-west4"])
    ])
    error_message = "Every topic has the policy."
  }
  assert {
    condition     = google_sql_database_instance.this.settings[0].backup_configuration[0].location == "eu"
    error_message = "Backups are stored where the operator says."
  }
}

run "a_deleted_database_leaves_a_backup" {
  command = plan

  assert {
    condition     = google_sql_database_instance.this.settings[0].final_backup_config[0].enabled && google_sql_database_instance.this.settings[0].final_backup_config[0].retention_days == 30 && google_sql_database_instance.this.settings[0].retain_backups_on_delete
    error_message = "A deletion by mistake must not lose the memories."
  }
}

run "the_migration_runs_on_an_image_that_a_job_can_start" {
  command = plan

  assert {
    condition     = length(google_cloudfunctions2_function.migrate.build_config[0].on_deploy_update_policy) == 1
    error_message = "With automatic updates the image has no base layers, and a job cannot add them."
  }
  assert {
    condition     = google_cloud_run_v2_job.migrate[0].template[0].template[0].max_retries == 0 && !google_cloud_run_v2_job.migrate[0].deletion_protection
    error_message = "A failed migration is reported at once, and the next apply replaces the job."
  }
}

run "all_traffic_of_the_functions_may_be_sent_through_the_network" {
  command = plan

  variables {
    vpc_egress = "ALL_TRAFFIC"
  }

  assert {
    condition     = toset(concat([google_cloudfunctions2_function.migrate.service_config[0].direct_vpc_egress], [for function in google_cloudfunctions2_function.serving : function.service_config[0].direct_vpc_egress])) == toset(["VPC_EGRESS_ALL_TRAFFIC"])
    error_message = "No function may send traffic past the network."
  }
  assert {
    condition     = google_cloud_run_v2_job.migrate[0].template[0].template[0].vpc_access[0].egress == "ALL_TRAFFIC"
    error_message = "The migration may not either."
  }
}

run "only_mcp_can_rerank" {
  command = plan

  variables {
    reranking_model = "semantic-ranker-fast-004"
  }

  assert {
    condition     = google_cloudfunctions2_function.serving["mcp"].service_config[0].environment_variables["MNEMOSYNE_RERANKING_MODEL"] == "semantic-ranker-fast-004"
    error_message = "mcp must know the model."
  }

  assert {
    condition     = [for name, member in google_project_iam_member.functions : name if member.role == "roles/discoveryengine.viewer"] == ["mcp discoveryengine.viewer"]
    error_message = "mcp must have the role, and no other function."
  }

  assert {
    condition     = contains(keys(google_project_service.this), "discoveryengine.googleapis.com")
    error_message = "The ranking API must be enabled."
  }
}

run "without_a_reranker_neither_api_nor_role_exists" {
  command = plan

  assert {
    condition     = !contains(keys(google_project_service.this), "discoveryengine.googleapis.com") && !contains([for member in values(google_project_iam_member.functions) : member.role], "roles/discoveryengine.viewer") && !contains(keys(google_cloudfunctions2_function.serving["mcp"].service_config[0].environment_variables), "MNEMOSYNE_RERANKING_MODEL")
    error_message = "Without reranking_model nothing of it is needed."
  }
}
