output "mcp_url" {
  description = "URL that MCP clients connect to."
  value       = module.mnemosyne.mcp_url
}

output "console_url" {
  description = "URL of the console for browsers. It is null with auth_mode iam and with iap, because a web page cannot log in there."
  value       = module.mnemosyne.console_url
}

output "oauth_callback" {
  description = "Redirect URI to register at the identity provider, for auth_mode oauth. The URI is already known before auth_mode oauth is set."
  value       = module.mnemosyne.oauth_callback
}

output "open_commands" {
  description = "Commands that give everybody access to the functions that identify their callers themselves, for open_by = \"no_invoker_check\". `make deploy` runs them."
  value       = module.mnemosyne.open_commands
}

output "domain_address" {
  description = "IP address for the A record of the domain; null without a domain."
  value       = module.mnemosyne.domain_address
}

output "topic" {
  description = "Topic to which mcp publishes memories. An importer that may publish here can write to every namespace."
  value       = module.mnemosyne.topic
}

output "publisher_topics" {
  description = "Topic of each entry of the variable publishers."
  value       = module.mnemosyne.publisher_topics
}

output "outcome_topic" {
  description = "Topic to which the outcomes of requests and the changes of memories are published; null if the variable outcomes is false."
  value       = module.mnemosyne.outcome_topic
}

output "database" {
  description = "Connection name of the Cloud SQL instance."
  value       = module.mnemosyne.database
}

output "connections_needed" {
  description = "Number of database connections that all instances can hold together. It must be at most max_connections."
  value       = module.mnemosyne.connections_needed
}

output "region" {
  description = "Region of the deployment."
  value       = module.mnemosyne.region
}

output "name" {
  description = "Name of the deployment. The names of its resources begin with it."
  value       = module.mnemosyne.name
}

output "dashboard" {
  description = "URL of the project's dashboards."
  value       = module.mnemosyne.dashboard
}
