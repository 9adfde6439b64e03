terraform {
  # Write-only arguments keep the database password out of the state.
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.20, < 9.0"
    }
    archive = {
      source  = "hashicorp/archive"
      version = "~> 2.7"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.7"
    }
  }

  # terraform init -backend-config="bucket=…"
  backend "gcs" {
    prefix = "mnemosyne"
  }
}

provider "google" {
  project = var.project
  region  = var.region
}
