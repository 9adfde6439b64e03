locals {
  mcp_origin = var.domain == "" ? local.urls["mcp"] : "https://${var.domain}"
  closed     = var.open_by == "no_invoker_check" && var.auth_mode != "iam" ? concat(["mcp"], local.auth) : []
}

output "mcp_url" {
  description = "URL that MCP clients connect to."
  value       = "${local.mcp_origin}/mcp"
}

output "console_url" {
  description = "URL of the console for browsers; null with auth_mode iam and with iap, which a web page cannot pass."
  value       = var.auth_mode == "iam" || var.iap ? null : "${local.mcp_origin}/"
}

output "oauth_callback" {
  description = "Redirect URI to register at the identity provider, for auth_mode oauth; known before that mode is on."
  value       = "${local.urls["auth"]}/callback"
}

output "open_commands" {
  description = "With open_by = \"no_invoker_check\": commands to run once, which let everybody reach the functions that identify their callers."
  value       = [for name in local.closed : "gcloud run services update ${var.name}-${name} --project=${var.project} --region=${var.region} --no-invoker-iam-check"]
}

output "domain_address" {
  description = "Address for the domain's A record; null without a domain."
  value       = one(google_compute_global_address.mcp[*].address)
}

output "topic" {
  description = "Topic of mcp, and of importers that may write to every namespace."
  value       = google_pubsub_topic.ingest.id
}

output "publisher_topics" {
  description = "Topic of each entry of publishers."
  value       = { for name in keys(var.publishers) : name => google_pubsub_topic.entry["publisher-${name}"].id }
}

output "outcome_topic" {
  description = "Topic of outcomes; null without outcomes."
  value       = one(google_pubsub_topic.outcomes[*].id)
}

output "database" {
  description = "Connection name of the Cloud SQL instance."
  value       = google_sql_database_instance.this.connection_name
}

output "connections_needed" {
  description = "Database connections that all instances can hold at once; max_connections is the limit."
  value       = local.connections_needed
}

output "region" {
  description = "Region of the deployment."
  value       = var.region
}

output "name" {
  description = "Name of the deployment, with which the names of its resources begin."
  value       = var.name
}

output "dashboard" {
  description = "URL of the project's dashboards."
  value       = "https://console.cloud.google.com/monitoring/dashboards?project=${var.project}"
}
