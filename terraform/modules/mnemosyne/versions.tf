terraform {
  # Terraform 1.11 is the first version with write-only arguments, which keep the database password out of the state.
  required_version = ">= 1.11"

  required_providers {
    # One major version, because each major version may remove arguments. Version 8 is the current one, and 8.7 is the
    # oldest version that the tests check the configuration against.
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
    # Only for google_project_service_identity, which the google provider does not have.
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
