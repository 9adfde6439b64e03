locals {
  # What is chosen with the first apply, because a later change would make anew what holds the memories.
  choices = {
    kms_key    = var.kms_key == null ? "" : var.kms_key
    name       = var.name
    network    = var.network == null ? "" : var.network.network
    project    = var.project
    psc        = tostring(var.psc)
    region     = var.region
    subnetwork = var.network == null ? "" : var.network.subnetwork
  }

  # A wider range is the same subnetwork; any other would be made anew while functions use it.
  first_cidr = terraform_data.first_cidr.input
  cidr_grows = (
    tonumber(split("/", var.subnetwork_cidr)[1]) <= tonumber(split("/", local.first_cidr)[1]) &&
    cidrhost("${split("/", local.first_cidr)[0]}/${split("/", var.subnetwork_cidr)[1]}", 0) == cidrhost(var.subnetwork_cidr, 0)
  )

  changed_choices = [
    for variable, value in local.choices :
    "${variable} was ${jsonencode(terraform_data.chosen.input[variable])} and is ${jsonencode(value)}"
    if terraform_data.chosen.input[variable] != value
  ]
}

resource "terraform_data" "first_cidr" {
  input = var.subnetwork_cidr

  lifecycle {
    ignore_changes = [input]
  }
}

resource "terraform_data" "chosen" {
  input = local.choices

  lifecycle {
    ignore_changes = [input]
  }
}
