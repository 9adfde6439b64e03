# The versions of the providers in schema/. The version of google is the lowest that the configuration allows.
terraform {
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "8.7.0"
    }
    google-beta = {
      source  = "hashicorp/google-beta"
      version = "8.7.0"
    }
    archive = {
      source  = "hashicorp/archive"
      version = "2.8.1"
    }
    http = {
      source  = "hashicorp/http"
      version = "3.6.2"
    }
    random = {
      source  = "hashicorp/random"
      version = "3.9.1"
    }
    time = {
      source  = "hashicorp/time"
      version = "0.14.2"
    }
  }
}
