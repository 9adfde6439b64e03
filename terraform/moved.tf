# Deployments made before the module was one are taken over as they are.

moved {
  from = google_billing_budget.this
  to   = module.mnemosyne.google_billing_budget.this
}

moved {
  from = google_cloud_run_v2_service_iam_member.mcp
  to   = module.mnemosyne.google_cloud_run_v2_service_iam_member.mcp
}

moved {
  from = google_cloud_run_v2_service_iam_member.migrate
  to   = module.mnemosyne.google_cloud_run_v2_service_iam_member.migrate
}

moved {
  from = google_cloud_run_v2_service_iam_member.push
  to   = module.mnemosyne.google_cloud_run_v2_service_iam_member.push
}

moved {
  from = google_cloudfunctions2_function.dead_letter
  to   = module.mnemosyne.google_cloudfunctions2_function.dead_letter
}

moved {
  from = google_cloudfunctions2_function.ingest
  to   = module.mnemosyne.google_cloudfunctions2_function.ingest
}

moved {
  from = google_cloudfunctions2_function.mcp
  to   = module.mnemosyne.google_cloudfunctions2_function.mcp
}

moved {
  from = google_cloudfunctions2_function.migrate
  to   = module.mnemosyne.google_cloudfunctions2_function.migrate
}

moved {
  from = google_compute_address.database
  to   = module.mnemosyne.google_compute_address.database
}

moved {
  from = google_compute_backend_service.mcp
  to   = module.mnemosyne.google_compute_backend_service.mcp
}

moved {
  from = google_compute_forwarding_rule.database
  to   = module.mnemosyne.google_compute_forwarding_rule.database
}

moved {
  from = google_compute_global_address.mcp
  to   = module.mnemosyne.google_compute_global_address.mcp
}

moved {
  from = google_compute_global_address.services
  to   = module.mnemosyne.google_compute_global_address.services
}

moved {
  from = google_compute_global_forwarding_rule.mcp
  to   = module.mnemosyne.google_compute_global_forwarding_rule.mcp
}

moved {
  from = google_compute_managed_ssl_certificate.mcp
  to   = module.mnemosyne.google_compute_managed_ssl_certificate.mcp
}

moved {
  from = google_compute_network.this
  to   = module.mnemosyne.google_compute_network.this[0]
}

moved {
  from = google_compute_region_network_endpoint_group.mcp
  to   = module.mnemosyne.google_compute_region_network_endpoint_group.mcp
}

moved {
  from = google_compute_security_policy.mcp
  to   = module.mnemosyne.google_compute_security_policy.mcp
}

moved {
  from = google_compute_subnetwork.functions
  to   = module.mnemosyne.google_compute_subnetwork.functions[0]
}

moved {
  from = google_compute_target_https_proxy.mcp
  to   = module.mnemosyne.google_compute_target_https_proxy.mcp
}

moved {
  from = google_compute_url_map.mcp
  to   = module.mnemosyne.google_compute_url_map.mcp
}

moved {
  from = google_dns_managed_zone.database
  to   = module.mnemosyne.google_dns_managed_zone.database
}

moved {
  from = google_dns_record_set.database
  to   = module.mnemosyne.google_dns_record_set.database
}

moved {
  from = google_iap_web_backend_service_iam_member.mcp
  to   = module.mnemosyne.google_iap_web_backend_service_iam_member.mcp
}

moved {
  from = google_logging_metric.events
  to   = module.mnemosyne.google_logging_metric.events
}

moved {
  from = google_monitoring_alert_policy.server_errors
  to   = module.mnemosyne.google_monitoring_alert_policy.server_errors
}

moved {
  from = google_monitoring_alert_policy.this
  to   = module.mnemosyne.google_monitoring_alert_policy.this
}

moved {
  from = google_monitoring_dashboard.this
  to   = module.mnemosyne.google_monitoring_dashboard.this
}

moved {
  from = google_monitoring_notification_channel.email
  to   = module.mnemosyne.google_monitoring_notification_channel.email
}

moved {
  from = google_project_iam_member.build
  to   = module.mnemosyne.google_project_iam_member.build
}

moved {
  from = google_project_iam_member.functions
  to   = module.mnemosyne.google_project_iam_member.functions
}

moved {
  from = google_project_service.this
  to   = module.mnemosyne.google_project_service.this
}

moved {
  from = google_pubsub_subscription.dead_letter
  to   = module.mnemosyne.google_pubsub_subscription.dead_letter
}

moved {
  from = google_pubsub_subscription.ingest
  to   = module.mnemosyne.google_pubsub_subscription.ingest
}

moved {
  from = google_pubsub_subscription_iam_member.agent_acknowledges
  to   = module.mnemosyne.google_pubsub_subscription_iam_member.agent_acknowledges
}

moved {
  from = google_pubsub_topic.dead_letter
  to   = module.mnemosyne.google_pubsub_topic.dead_letter
}

moved {
  from = google_pubsub_topic.ingest
  to   = module.mnemosyne.google_pubsub_topic.ingest
}

moved {
  from = google_pubsub_topic_iam_member.agent_forwards
  to   = module.mnemosyne.google_pubsub_topic_iam_member.agent_forwards
}

moved {
  from = google_pubsub_topic_iam_member.publisher
  to   = module.mnemosyne.google_pubsub_topic_iam_member.publisher
}

moved {
  from = google_secret_manager_secret.owner_password
  to   = module.mnemosyne.google_secret_manager_secret.owner_password
}

moved {
  from = google_secret_manager_secret_iam_member.gemini_api_key
  to   = module.mnemosyne.google_secret_manager_secret_iam_member.gemini_api_key
}

moved {
  from = google_secret_manager_secret_iam_member.owner_password
  to   = module.mnemosyne.google_secret_manager_secret_iam_member.owner_password
}

moved {
  from = google_secret_manager_secret_version.owner_password
  to   = module.mnemosyne.google_secret_manager_secret_version.owner_password
}

moved {
  from = google_service_account.build
  to   = module.mnemosyne.google_service_account.build
}

moved {
  from = google_service_account.functions
  to   = module.mnemosyne.google_service_account.functions
}

moved {
  from = google_service_account.push
  to   = module.mnemosyne.google_service_account.push
}

moved {
  from = google_service_account.workflow
  to   = module.mnemosyne.google_service_account.workflow
}

moved {
  from = google_service_account_iam_member.push_tokens
  to   = module.mnemosyne.google_service_account_iam_member.push_tokens
}

moved {
  from = google_service_networking_connection.services
  to   = module.mnemosyne.google_service_networking_connection.services
}

moved {
  from = google_sql_database.this
  to   = module.mnemosyne.google_sql_database.this
}

moved {
  from = google_sql_database_instance.this
  to   = module.mnemosyne.google_sql_database_instance.this
}

moved {
  from = google_sql_user.functions
  to   = module.mnemosyne.google_sql_user.functions
}

moved {
  from = google_sql_user.owner
  to   = module.mnemosyne.google_sql_user.owner
}

moved {
  from = google_storage_bucket.source
  to   = module.mnemosyne.google_storage_bucket.source
}

moved {
  from = google_storage_bucket_object.source
  to   = module.mnemosyne.google_storage_bucket_object.source
}

moved {
  from = google_workflows_workflow.keys
  to   = module.mnemosyne.google_workflows_workflow.keys
}

moved {
  from = google_workflows_workflow.migrate
  to   = module.mnemosyne.google_workflows_workflow.migrate
}

moved {
  from = random_id.database
  to   = module.mnemosyne.random_id.database
}

moved {
  from = terraform_data.migrated
  to   = module.mnemosyne.terraform_data.migrated
}
