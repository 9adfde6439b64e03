locals {
  mcp_origin = var.domain == "" ? local.urls["mcp"] : "https://${var.domain}"
}

output "mcp_url" {
  description = "Where MCP clients connect."
  value       = "${local.mcp_origin}/mcp"
}

output "console_url" {
  description = "Where people see what is remembered, in a browser; null with auth_mode iam and behind iap, which a page cannot pass."
  value       = var.auth_mode == "iam" || var.iap ? null : "${local.mcp_origin}/"
}

output "oauth_callback" {
  description = "The redirect URI to register where people log in, with auth_mode oauth; known before it is on."
  value       = "${local.urls["auth"]}/callback"
}

output "domain_address" {
  description = "What the domain's A record must say; null without a domain."
  value       = one(google_compute_global_address.mcp[*].address)
}

output "topic" {
  description = "Where mcp publishes, and importers that may write to any namespace."
  value       = google_pubsub_topic.ingest.id
}

output "publisher_topics" {
  description = "Where each of publishers publishes."
  value       = { for name in keys(var.publishers) : name => google_pubsub_topic.entry["publisher-${name}"].id }
}

output "outcome_topic" {
  description = "Where outcomes are told; null without outcomes."
  value       = one(google_pubsub_topic.outcomes[*].id)
}

output "database" {
  description = "The Cloud SQL instance's connection name."
  value       = google_sql_database_instance.this.connection_name
}

output "connections_needed" {
  description = "Connections that all instances hold at their most, out of max_connections."
  value       = local.connections_needed
}

output "region" {
  description = "Where it runs."
  value       = var.region
}

output "name" {
  description = "What its resources' names begin with."
  value       = var.name
}

output "dashboard" {
  description = "Where to look first."
  value       = "https://console.cloud.google.com/monitoring/dashboards?project=${var.project}"
}
