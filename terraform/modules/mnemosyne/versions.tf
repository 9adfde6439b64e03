terraform {
  # Write-only arguments keep the database password out of the state.
  required_version = ">= 1.11"

  required_providers {
    # From 7.32 on the functions' direct way into the network is checked and kept as it should be; 9.0 is not known yet.
    google = {
      source  = "hashicorp/google"
      version = ">= 7.32, < 9.0"
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
