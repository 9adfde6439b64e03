variable "network" {
  description = "Existing network and its subnetwork in the region, by their full ids: projects/P/global/networks/N and projects/P/regions/R/subnetworks/S. The network may be in the host project of a Shared VPC. null: a new network. Without psc, an existing network needs private services access. The network cannot be changed after the first apply."
  type = object({
    network    = string
    subnetwork = string
  })
  default = null

  validation {
    condition     = var.network == null || can(regex("^projects/[^/]+/global/networks/[^/]+$", var.network.network))
    error_message = "network.network must be projects/P/global/networks/N."
  }
  validation {
    condition     = var.network == null || can(regex("^projects/[^/]+/regions/[^/]+/subnetworks/[^/]+$", var.network.subnetwork))
    error_message = "network.subnetwork must be projects/P/regions/R/subnetworks/S."
  }
  validation {
    condition     = var.network == null || strcontains(try(var.network.subnetwork, ""), "/regions/${var.region}/")
    error_message = "network.subnetwork must be in ${var.region}, the region of the functions."
  }
}

variable "psc" {
  description = "Whether the functions reach the database through Private Service Connect instead of private services access. This choice cannot be changed after the first apply."
  type        = bool
  default     = false
}

variable "subnetwork_cidr" {
  description = "Address range of the new network's subnetwork, with two addresses for each instance. The range can be widened but not moved, and must not be 192.168.1.0/24."
  type        = string
  default     = "10.10.0.0/24"

  validation {
    condition     = can(cidrhost(var.subnetwork_cidr, 0)) && try(tonumber(split("/", var.subnetwork_cidr)[1]), 32) <= 26
    error_message = "subnetwork_cidr must be a range of /26 or wider, such as 10.10.0.0/24."
  }
}

variable "vpc_egress" {
  description = "Traffic that the functions send through the network: PRIVATE_RANGES_ONLY; or ALL_TRAFFIC, so that the network can control all outgoing traffic. With ALL_TRAFFIC, the network needs a NAT gateway for addresses outside Google."
  type        = string
  default     = "PRIVATE_RANGES_ONLY"

  validation {
    condition     = contains(["PRIVATE_RANGES_ONLY", "ALL_TRAFFIC"], var.vpc_egress)
    error_message = "vpc_egress must be PRIVATE_RANGES_ONLY or ALL_TRAFFIC, got ${var.vpc_egress}."
  }
}
