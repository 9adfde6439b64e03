terraform {
  # Write-only arguments keep the database password out of the state. Terraform 1.11 is the first version that has
  # them.
  required_version = ">= 1.11"

  required_providers {
    # Only one major version is allowed, because each major version may remove arguments. Version 8 is the current one.
    # Version 8.7 is the oldest version with which the tests check the configuration.
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
    # This provider is used only for google_project_service_identity, which the google provider does not have.
    google-beta = {
      source  = "hashicorp/google-beta"
      version = "~> 8.7"
    }
    archive = {
      source  = "hashicorp/archive"
      version = "~> 2.7"
    }
    http = {
      source  = "hashicorp/http"
      version = "~> 3.5"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.7"
    }
    time = {
      source  = "hashicorp/time"
      version = "~> 0.13"
    }
  }
}
