output "deploy_account" {
  description = "E-mail address of the account that deploys."
  value       = google_service_account.deploy.email
}

output "workload_identity_provider" {
  description = "Workload identity provider for the GitHub action google-github-actions/auth; null with cloud_build."
  value       = one(google_iam_workload_identity_pool_provider.github[*].name)
}

output "smoke_key" {
  description = "Secret for the API key of the smoke test. It is null with github_actions, because the key is then a secret of the repository."
  value       = one(google_secret_manager_secret.smoke_key[*].secret_id)
}
