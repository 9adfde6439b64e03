locals {
  mcp_origin = var.domain == "" ? local.urls["mcp"] : "https://${var.domain}"
  closed     = var.open_by == "no_invoker_check" && var.auth_mode != "iam" ? concat(["mcp"], local.auth) : []
}

output "mcp_url" {
  description = "URL that MCP clients connect to."
  value       = "${local.mcp_origin}/mcp"
}

output "console_url" {
  description = "URL of the console for browsers. It is null with auth_mode iam and with iap, because a web page cannot log in there."
  value       = var.auth_mode == "iam" || var.iap ? null : "${local.mcp_origin}/"
}

output "oauth_callback" {
  description = "Redirect URI to register at the identity provider, for auth_mode oauth. The URI is already known before auth_mode oauth is set."
  value       = "${local.urls["auth"]}/callback"
}

output "open_commands" {
  description = "Commands that give everybody access to the functions that identify their callers themselves, for open_by = \"no_invoker_check\". `make deploy` runs them."
  value       = [for name in local.closed : "gcloud run services update ${var.name}-${name} --project=${var.project} --region=${var.region} --no-invoker-iam-check"]
}

output "domain_address" {
  description = "IP address for the A record of the domain; null without a domain."
  value       = one(google_compute_global_address.mcp[*].address)
}

output "topic" {
  description = "Topic to which mcp publishes memories. An importer that may publish here can write to every namespace."
  value       = google_pubsub_topic.ingest.id
}

output "publisher_topics" {
  description = "Topic of each entry of the variable publishers."
  value       = { for name in keys(var.publishers) : name => google_pubsub_topic.entry["publisher-${name}"].id }
}

output "outcome_topic" {
  description = "Topic to which the outcomes of requests and the changes of memories are published; null if the variable outcomes is false."
  value       = one(google_pubsub_topic.outcomes[*].id)
}

output "database" {
  description = "Connection name of the Cloud SQL instance."
  value       = google_sql_database_instance.this.connection_name
}

output "connections_needed" {
  description = "Number of database connections that all instances can hold together. It must be at most max_connections."
  value       = local.connections_needed
}

output "region" {
  description = "Region of the deployment."
  value       = var.region
}

output "name" {
  description = "Name of the deployment. The names of its resources begin with it."
  value       = var.name
}

output "dashboard" {
  description = "URL of the project's dashboards."
  value       = "https://console.cloud.google.com/monitoring/dashboards?project=${var.project}"
}
