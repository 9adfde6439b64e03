# A workflow run exchanges its GitHub token for a token of the deploying account. So this account needs no key:
# https://cloud.google.com/iam/docs/workload-identity-federation-with-deployment-pipelines

locals {
  # workflow_ref contains the file and the branch of the workflow. A run for a pull request is refused by its event,
  # pull_request or pull_request_target.
  github_condition = join(" && ", concat(
    [
      "assertion.repository == '${var.repository}'",
      "assertion.workflow_ref == '${var.repository}/.github/workflows/deploy.yaml@refs/heads/${var.branch}'",
      "assertion.event_name in ['workflow_dispatch', 'workflow_run']",
    ],
    var.repository_id == null ? [] : ["assertion.repository_id == '${var.repository_id}'"],
  ))
}

# The name has a random part, because Google keeps the id of a deleted pool for 30 days, in which no new pool can have
# it: https://cloud.google.com/iam/docs/manage-workload-identity-pools-providers#delete-pool
resource "random_id" "github" {
  count       = local.on_github
  byte_length = 3
}

resource "google_iam_workload_identity_pool" "github" {
  count                     = local.on_github
  project                   = var.project
  workload_identity_pool_id = "${var.deployment}-github-${random_id.github[0].hex}"
  display_name              = "Mnemosyne: GitHub Actions"
  depends_on                = [google_project_service.this]
}

resource "google_iam_workload_identity_pool_provider" "github" {
  count                              = local.on_github
  project                            = var.project
  workload_identity_pool_id          = google_iam_workload_identity_pool.github[0].workload_identity_pool_id
  workload_identity_pool_provider_id = "github"
  display_name                       = "GitHub Actions"
  attribute_condition                = local.github_condition

  # Google refuses a subject of more than 127 bytes: https://cloud.google.com/iam/docs/workload-identity-federation#mapping.
  # GitHub's subject contains the names of owner, repository and branch, and may contain ids of owner and repository.
  attribute_mapping = {
    "google.subject"       = "size(assertion.sub) <= 127 ? assertion.sub : 'repository ' + assertion.repository_id"
    "attribute.repository" = "assertion.repository"
  }

  oidc {
    issuer_uri = "https://token.actions.githubusercontent.com"
  }
}

resource "google_service_account_iam_member" "github" {
  count              = local.on_github
  service_account_id = google_service_account.deploy.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "principalSet://iam.googleapis.com/${google_iam_workload_identity_pool.github[0].name}/attribute.repository/${var.repository}"
}
