# Mnemosyne as a part of another configuration: in a Shared VPC of the platform team's, with its key and its labels.
#
# The host project lets Cloud Run's service agent of this project use the subnetwork (roles/compute.networkUser), and has
# private services access for the network.

terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.32, < 9.0"
    }
  }
}

provider "google" {
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
  description = "Where MCP clients connect."
  value       = module.memory.mcp_url
}
