locals {
  # The deployment uses its own network, or an existing network in this project or in the host project of a Shared VPC.
  own_network   = var.network == null ? 1 : 0
  network_id    = var.network == null ? one(google_compute_network.this[*].id) : var.network.network
  subnetwork_id = var.network == null ? one(google_compute_subnetwork.functions[*].id) : var.network.subnetwork

  # The names of network and subnetwork in the form in which the API of Cloud Run functions returns them. With another
  # form, each plan would show a change. For a network of this project the API returns the short name, and for a network
  # of another project the full name.
  function_network    = trimprefix(local.network_id, "projects/${var.project}/global/networks/")
  function_subnetwork = trimprefix(local.subnetwork_id, "projects/${var.project}/regions/${var.region}/subnetworks/")

  # Cloud Run takes two addresses for each instance, in blocks of sixteen, and keeps the addresses of a stopped instance
  # for up to twenty minutes. So a rollout, which replaces all instances, needs four addresses for each instance:
  # https://cloud.google.com/run/docs/configuring/vpc-direct-vpc#direct-vpc-ip-allocation. Google also reserves four
  # addresses of each subnetwork.
  instances_at_most = (
    var.max_instances.mcp + var.max_instances.ingest + var.max_instances.dead_letter +
    length(local.import_object) * local.import_object_instances + length(local.auth) * local.auth_instances + 1
  )
  addresses_needed = 16 * ceil(4 * local.instances_at_most / 16) + 4 + (var.psc ? 1 : 0)
  addresses_given  = pow(2, 32 - tonumber(split("/", var.subnetwork_cidr)[1]))
}

resource "google_compute_network" "this" {
  #checkov:skip=CKV2_GCP_18: The network has no machines, and denies all traffic without a firewall rule.
  count                   = local.own_network
  project                 = var.project
  name                    = var.name
  auto_create_subnetworks = false
  depends_on              = [time_sleep.services]

  # All functions and the database use this network.
  lifecycle {
    prevent_destroy = true
  }
}

# The functions' addresses are in this subnetwork. Their requests to Google's APIs do not leave Google's network.
resource "google_compute_subnetwork" "functions" {
  #checkov:skip=CKV_GCP_26: Flow logs are charged by the gigabyte and mostly show traffic to Google's APIs.
  count                    = local.own_network
  project                  = var.project
  name                     = "${var.name}-functions"
  network                  = google_compute_network.this[0].id
  region                   = var.region
  ip_cidr_range            = var.subnetwork_cidr
  private_ip_google_access = true

  # If subnetwork_cidr is changed to a range that does not contain the present range, Terraform wants to replace the
  # subnetwork. prevent_destroy stops this, because functions use the subnetwork.
  lifecycle {
    prevent_destroy = true

    precondition {
      condition     = local.addresses_needed <= local.addresses_given
      error_message = "Up to ${local.instances_at_most} instances need ${local.addresses_needed} addresses, four each in blocks of sixteen, and ${var.subnetwork_cidr} has ${local.addresses_given}: widen subnetwork_cidr or lower max_instances."
    }
  }
}

resource "google_compute_global_address" "services" {
  count         = var.psc ? 0 : local.own_network
  project       = var.project
  name          = "${var.name}-services"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 20
  network       = google_compute_network.this[0].id
  labels        = local.labels
}

# Google refuses to delete the peering while a deleted database can still be restored. So `terraform destroy` leaves
# the peering, and `make destroy` deletes it. If an earlier deployment has left a peering, this deployment uses it.
resource "google_service_networking_connection" "services" {
  count                   = var.psc ? 0 : local.own_network
  network                 = google_compute_network.this[0].id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.services[0].name]
  deletion_policy         = "ABANDON"
  update_on_creation_fail = true
}

# Private Service Connect gives the database an address in the network, and a name that the Cloud SQL Connector
# resolves.
resource "google_compute_address" "database" {
  count        = var.psc ? 1 : 0
  project      = var.project
  name         = "${var.name}-database"
  region       = var.region
  subnetwork   = local.subnetwork_id
  address_type = "INTERNAL"
  labels       = local.labels

  # Without this address, or with an address in another network, the functions cannot reach the database.
  lifecycle {
    prevent_destroy = true
  }
}

resource "google_compute_forwarding_rule" "database" {
  count                 = var.psc ? 1 : 0
  project               = var.project
  name                  = "${var.name}-database"
  region                = var.region
  network               = local.network_id
  ip_address            = google_compute_address.database[0].id
  load_balancing_scheme = ""
  labels                = local.labels
  target                = google_sql_database_instance.this.psc_service_attachment_link
}

resource "google_dns_managed_zone" "database" {
  count      = var.psc ? 1 : 0
  depends_on = [time_sleep.services]
  project    = var.project
  name       = "${var.name}-database"
  dns_name   = google_sql_database_instance.this.dns_name
  visibility = "private"
  labels     = local.labels

  private_visibility_config {
    networks {
      network_url = local.network_id
    }
  }
}

resource "google_dns_record_set" "database" {
  count        = var.psc ? 1 : 0
  project      = var.project
  managed_zone = google_dns_managed_zone.database[0].name
  name         = google_sql_database_instance.this.dns_name
  type         = "A"
  ttl          = 300
  rrdatas      = [google_compute_address.database[0].address]
}
