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

  changed_choices = [
    for variable, value in local.choices :
    "${variable} was ${jsonencode(terraform_data.chosen.output[variable])} and is ${jsonencode(value)}"
    if terraform_data.chosen.output[variable] != value
  ]
}

resource "terraform_data" "chosen" {
  input = local.choices

  lifecycle {
    ignore_changes = [input]
  }
}
