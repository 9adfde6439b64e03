variable "network" {
  description = "Existing network and its subnetwork in the region, by their full ids: projects/P/global/networks/N and projects/P/regions/R/subnetworks/S. The network may be in the host project of a Shared VPC. null: a new network. Without psc, an existing network needs private services access. The network cannot be changed after the first apply."
  type = object({
    network    = string
    subnetwork = string
  })
  default = null

  validation {
    condition     = var.network == null || can(regex("^projects/[^/]+/global/networks/[^/]+$", var.network.network))
    error_message = "network.network must be projects/P/global/networks/N, got ${try(var.network.network, "nothing")}."
  }
  validation {
    condition     = var.network == null || can(regex("^projects/[^/]+/regions/[^/]+/subnetworks/[^/]+$", var.network.subnetwork))
    error_message = "network.subnetwork must be projects/P/regions/R/subnetworks/S, got ${try(var.network.subnetwork, "nothing")}."
  }
  validation {
    condition     = var.network == null || strcontains(try(var.network.subnetwork, ""), "/regions/${var.region}/")
    error_message = "network.subnetwork must be in ${var.region}, the region of the functions, got ${try(var.network.subnetwork, "nothing")}."
  }
}

variable "psc" {
  description = "Whether the functions reach the database through Private Service Connect instead of private services access. This choice cannot be changed after the first apply."
  type        = bool
  default     = false
  nullable    = false
}

variable "subnetwork_cidr" {
  description = "Address range of the new network's subnetwork, with four addresses for each instance. The range can be widened but not moved. It must not overlap 192.168.1.0/24, which Cloud Run does not support, or 172.17.0.0/16, from which Cloud SQL accepts no connection."
  type        = string
  default     = "10.10.0.0/24"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9.]+/([0-9]|1[0-9]|2[0-6])$", var.subnetwork_cidr)) && try(cidrhost(var.subnetwork_cidr, 0) == split("/", var.subnetwork_cidr)[0], false)
    error_message = "subnetwork_cidr must be a range of IPv4 addresses of /26 or wider that begins with its first address, such as 10.10.0.0/24, got ${var.subnetwork_cidr}."
  }
  # https://cloud.google.com/run/docs/configuring/vpc-direct-vpc, https://cloud.google.com/sql/docs/postgres/private-ip.
  # Two ranges overlap if their first addresses are equal in the first N bits, where N is the shorter prefix length.
  validation {
    condition = alltrue([
      for reserved, length in { "192.168.1.0" = 24, "172.17.0.0" = 16 } :
      try(cidrhost("${reserved}/${min(length, split("/", var.subnetwork_cidr)[1])}", 0) != cidrhost("${split("/", var.subnetwork_cidr)[0]}/${min(length, split("/", var.subnetwork_cidr)[1])}", 0), true)
    ])
    error_message = "subnetwork_cidr must not overlap 192.168.1.0/24 or 172.17.0.0/16, got ${var.subnetwork_cidr}: choose another range, such as 10.10.0.0/24."
  }
  # https://cloud.google.com/vpc/docs/subnets#prohibited-ipv4-ranges. The list below has the range 199.36.153.0/28 in
  # place of its two prohibited parts, 199.36.153.4/30 and 199.36.153.8/30.
  validation {
    condition = alltrue([
      for prohibited, length in { "0.0.0.0" = 8, "127.0.0.0" = 8, "169.254.0.0" = 16, "199.36.153.0" = 28, "224.0.0.0" = 4 } :
      try(cidrhost("${prohibited}/${min(length, split("/", var.subnetwork_cidr)[1])}", 0) != cidrhost("${split("/", var.subnetwork_cidr)[0]}/${min(length, split("/", var.subnetwork_cidr)[1])}", 0), true)
    ])
    error_message = "subnetwork_cidr must not overlap 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 199.36.153.0/28 or 224.0.0.0/4, which Google Cloud refuses, got ${var.subnetwork_cidr}: choose another range, such as 10.10.0.0/24."
  }
}

variable "vpc_egress" {
  description = "Traffic that the functions send through the network: PRIVATE_RANGES_ONLY; or ALL_TRAFFIC, so that the network can control all outgoing traffic. With ALL_TRAFFIC, the network needs a NAT gateway for addresses outside Google, and an existing subnetwork needs Private Google Access."
  type        = string
  default     = "PRIVATE_RANGES_ONLY"
  nullable    = false

  validation {
    condition     = contains(["PRIVATE_RANGES_ONLY", "ALL_TRAFFIC"], var.vpc_egress)
    error_message = "vpc_egress must be PRIVATE_RANGES_ONLY or ALL_TRAFFIC, got ${var.vpc_egress}."
  }
}
