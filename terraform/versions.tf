terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.32, < 9.0"
    }
  }

  # A state for each deployment: make deploy names bucket and prefix, else
  # terraform init -backend-config="bucket=…" -backend-config="prefix=<name>".
  backend "gcs" {}
}

provider "google" {
  project = var.project
  region  = var.region

  # Budgets belong to the billing account: a person's own credentials need a project whose quota they use.
  billing_project       = var.billing_account == "" ? null : var.project
  user_project_override = var.billing_account == "" ? null : true
}
