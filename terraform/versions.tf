terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
    google-beta = {
      source  = "hashicorp/google-beta"
      version = "~> 8.7"
    }
  }

  # Each deployment has its own state: `make deploy` sets bucket and prefix. Without it, run
  # terraform init -backend-config="bucket=…" -backend-config="prefix=<name>".
  backend "gcs" {}
}

locals {
  # The API of budgets charges its quota to a project, because budgets belong to the billing account. A person's credentials
  # have no quota project.
  quota_project = var.billing_account == "" ? null : var.project
}

provider "google" {
  project               = var.project
  region                = var.region
  billing_project       = local.quota_project
  user_project_override = local.quota_project == null ? null : true
}

provider "google-beta" {
  project = var.project
  region  = var.region
}
