output "mcp_url" {
  description = "Where MCP clients connect."
  value       = module.mnemosyne.mcp_url
}

output "console_url" {
  description = "Where people see what is remembered, in a browser; null with auth_mode iam and behind iap, which a page cannot pass."
  value       = module.mnemosyne.console_url
}

output "oauth_callback" {
  description = "The redirect URI to register where people log in, with auth_mode oauth; known before it is on."
  value       = module.mnemosyne.oauth_callback
}

output "domain_address" {
  description = "What the domain's A record must say; null without a domain."
  value       = module.mnemosyne.domain_address
}

output "topic" {
  description = "Where mcp publishes, and importers that may write to any namespace."
  value       = module.mnemosyne.topic
}

output "publisher_topics" {
  description = "Where each of publishers publishes."
  value       = module.mnemosyne.publisher_topics
}

output "outcome_topic" {
  description = "Where outcomes are told; null without outcomes."
  value       = module.mnemosyne.outcome_topic
}

output "database" {
  description = "The Cloud SQL instance's connection name."
  value       = module.mnemosyne.database
}

output "connections_needed" {
  description = "Connections that all instances hold at their most, out of max_connections."
  value       = module.mnemosyne.connections_needed
}

output "region" {
  description = "Where it runs."
  value       = module.mnemosyne.region
}

output "name" {
  description = "What its resources' names begin with."
  value       = module.mnemosyne.name
}

output "dashboard" {
  description = "Where to look first."
  value       = module.mnemosyne.dashboard
}
