# Mnemosyne as a module of another configuration. This example uses a Shared VPC, and the KMS key and labels of a
# platform team.
#
# Prepare the host project: grant roles/compute.networkUser on the subnetwork to the Cloud Run service agent of this
# project, and set up private services access for the network.

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
}

provider "google" {
  project = var.project
  region  = "europe-west3"
}

provider "google-beta" {
  project = var.project
  region  = "europe-west3"
}

variable "project" {
  description = "The service project."
  type        = string
}

variable "host_project" {
  description = "The Shared VPC's host project."
  type        = string
}

module "memory" {
  source = "../../modules/mnemosyne"

  project = var.project
  region  = "europe-west3"
  name    = "memory"
  labels  = { team = "platform", cost-center = "4711" }
  kms_key = "projects/${var.host_project}/locations/europe-west3/keyRings/data/cryptoKeys/memory"

  network = {
    network    = "projects/${var.host_project}/global/networks/shared"
    subnetwork = "projects/${var.host_project}/regions/europe-west3/subnetworks/serverless"
  }
}

output "mcp_url" {
  description = "URL that MCP clients connect to."
  value       = module.memory.mcp_url
}
