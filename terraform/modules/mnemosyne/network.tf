locals {
  # A network of our own, or one that is there, in this project or in the host project of a Shared VPC.
  own_network   = var.network == null ? 1 : 0
  network_id    = var.network == null ? one(google_compute_network.this[*].id) : var.network.network
  subnetwork_id = var.network == null ? one(google_compute_subnetwork.functions[*].id) : var.network.subnetwork

  # Short names where the network is ours, as the API answers them; whole ones where it is another project's.
  function_network    = var.network == null ? one(google_compute_network.this[*].name) : var.network.network
  function_subnetwork = var.network == null ? one(google_compute_subnetwork.functions[*].name) : var.network.subnetwork

  # Cloud Run takes two addresses an instance while it moves from one revision to the next, in blocks of sixteen:
  # https://cloud.google.com/run/docs/configuring/vpc-direct-vpc. Google keeps four of every subnetwork.
  instances_at_most = var.max_instances.mcp + var.max_instances.ingest + var.max_instances.dead_letter + length(local.auth) * local.auth_instances + 1
  addresses_needed  = 16 * ceil(2 * local.instances_at_most / 16) + 4 + (var.psc ? 1 : 0)
  addresses_given   = pow(2, 32 - tonumber(split("/", var.subnetwork_cidr)[1]))
}

resource "google_compute_network" "this" {
  #checkov:skip=CKV2_GCP_18: No machine is in it that could be reached; what is not allowed is denied by itself.
  count                   = local.own_network
  name                    = var.name
  auto_create_subnetworks = false
  depends_on              = [time_sleep.services]
}

# The functions' own addresses; Google's APIs are reached without leaving Google's network.
resource "google_compute_subnetwork" "functions" {
  #checkov:skip=CKV_GCP_26: Flow logs cost by the gigabyte and show Google's own traffic; turn them on where they are asked for.
  count                    = local.own_network
  name                     = "${var.name}-functions"
  network                  = google_compute_network.this[0].id
  region                   = var.region
  ip_cidr_range            = var.subnetwork_cidr
  private_ip_google_access = true

  lifecycle {
    precondition {
      condition     = local.cidr_grows
      error_message = "subnetwork_cidr can only be widened: ${var.subnetwork_cidr} does not hold ${local.first_cidr}, where the functions are."
    }
    precondition {
      condition     = local.addresses_needed <= local.addresses_given
      error_message = "${local.instances_at_most} instances at most need ${local.addresses_needed} addresses, two each and in blocks of sixteen, and ${var.subnetwork_cidr} has ${local.addresses_given}: widen subnetwork_cidr or lower max_instances."
    }
  }
}

resource "google_compute_global_address" "services" {
  count         = var.psc ? 0 : local.own_network
  name          = "${var.name}-services"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 20
  network       = google_compute_network.this[0].id
  labels        = local.labels
}

# The peering stays behind when this is destroyed, for Google keeps it for as long as a deleted database could be brought
# back: `make destroy` takes it away. Where one was left behind, it is taken over.
resource "google_service_networking_connection" "services" {
  count                   = var.psc ? 0 : local.own_network
  network                 = google_compute_network.this[0].id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.services[0].name]
  deletion_policy         = "ABANDON"
  update_on_creation_fail = true
}

# Private Service Connect: an address of ours that leads to the database, and the name the Connector asks for.
resource "google_compute_address" "database" {
  count        = var.psc ? 1 : 0
  name         = "${var.name}-database"
  region       = var.region
  subnetwork   = local.subnetwork_id
  address_type = "INTERNAL"
  labels       = local.labels
}

resource "google_compute_forwarding_rule" "database" {
  count                 = var.psc ? 1 : 0
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
  managed_zone = google_dns_managed_zone.database[0].name
  name         = google_sql_database_instance.this.dns_name
  type         = "A"
  ttl          = 300
  rrdatas      = [google_compute_address.database[0].address]
}
