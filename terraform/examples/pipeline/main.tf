# The pipeline of a deployment. The pipeline has its own Terraform state, which the deploying account cannot change. So
# this account cannot change its own rights.

terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
  }

  # terraform init -backend-config="bucket=PROJECT-terraform" -backend-config="prefix=mnemosyne_pipeline"
  backend "gcs" {}
}

provider "google" {
  project = var.project
}

variable "project" {
  description = "Id of the Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region of the deployment."
  type        = string
  default     = "europe-west1"
}

variable "repository" {
  description = "GitHub repository, as OWNER/REPOSITORY."
  type        = string
}

variable "runner" {
  description = "Where the pipeline runs: cloud_build or github_actions."
  type        = string
  default     = "cloud_build"
}

module "pipeline" {
  source = "../../modules/pipeline"

  project    = var.project
  region     = var.region
  repository = var.repository
  runner     = var.runner
}

output "deploy_account" {
  description = "E-mail address of the account that deploys."
  value       = module.pipeline.deploy_account
}

output "workload_identity_provider" {
  description = "Provider for google-github-actions/auth; null with cloud_build."
  value       = module.pipeline.workload_identity_provider
}

output "smoke_key" {
  description = "Secret for the API key of the smoke test; null with github_actions."
  value       = module.pipeline.smoke_key
}
