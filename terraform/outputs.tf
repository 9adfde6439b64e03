output "mcp_url" {
  description = "URL that MCP clients connect to."
  value       = module.mnemosyne.mcp_url
}

output "console_url" {
  description = "URL of the console for browsers; null with auth_mode iam and with iap, which a web page cannot pass."
  value       = module.mnemosyne.console_url
}

output "oauth_callback" {
  description = "Redirect URI to register at the identity provider, for auth_mode oauth; known before that mode is on."
  value       = module.mnemosyne.oauth_callback
}

output "open_commands" {
  description = "With open_by = \"no_invoker_check\": commands to run once, which let everybody reach the functions that identify their callers."
  value       = module.mnemosyne.open_commands
}

output "domain_address" {
  description = "Address for the domain's A record; null without a domain."
  value       = module.mnemosyne.domain_address
}

output "topic" {
  description = "Topic of mcp, and of importers that may write to every namespace."
  value       = module.mnemosyne.topic
}

output "publisher_topics" {
  description = "Topic of each entry of publishers."
  value       = module.mnemosyne.publisher_topics
}

output "outcome_topic" {
  description = "Topic of outcomes; null without outcomes."
  value       = module.mnemosyne.outcome_topic
}

output "database" {
  description = "Connection name of the Cloud SQL instance."
  value       = module.mnemosyne.database
}

output "connections_needed" {
  description = "Database connections that all instances can hold at once; max_connections is the limit."
  value       = module.mnemosyne.connections_needed
}

output "region" {
  description = "Region of the deployment."
  value       = module.mnemosyne.region
}

output "name" {
  description = "Name of the deployment, with which the names of its resources begin."
  value       = module.mnemosyne.name
}

output "dashboard" {
  description = "URL of the project's dashboards."
  value       = module.mnemosyne.dashboard
}
