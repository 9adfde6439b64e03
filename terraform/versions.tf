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

  # Each deployment has its own Terraform state. `make deploy` sets its bucket and prefix. Without `make deploy`, run
  # terraform init -backend-config="bucket=…" -backend-config="prefix=<name>".
  backend "gcs" {}
}

locals {
  # Budgets belong to the billing account, so the budget API needs a project to which it charges its quota. The
  # credentials of a person have no such project.
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
