resource "google_compute_network" "this" {
  name                    = var.name
  auto_create_subnetworks = false
  depends_on              = [google_project_service.this]
}

# The functions' own addresses; Google's APIs are reached without leaving Google's network.
resource "google_compute_subnetwork" "functions" {
  name                     = "${var.name}-functions"
  network                  = google_compute_network.this.id
  region                   = var.region
  ip_cidr_range            = "10.10.0.0/24"
  private_ip_google_access = true
}

resource "google_compute_global_address" "services" {
  count         = var.psc ? 0 : 1
  name          = "${var.name}-services"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 20
  network       = google_compute_network.this.id
}

resource "google_service_networking_connection" "services" {
  count                   = var.psc ? 0 : 1
  network                 = google_compute_network.this.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.services[0].name]
  deletion_policy         = "ABANDON" # it cannot be removed for a while after the database is
}

# Private Service Connect: an address of ours that leads to the database, and the name the Connector asks for.
resource "google_compute_address" "database" {
  count        = var.psc ? 1 : 0
  name         = "${var.name}-database"
  region       = var.region
  subnetwork   = google_compute_subnetwork.functions.id
  address_type = "INTERNAL"
}

resource "google_compute_forwarding_rule" "database" {
  count                 = var.psc ? 1 : 0
  name                  = "${var.name}-database"
  region                = var.region
  network               = google_compute_network.this.id
  ip_address            = google_compute_address.database[0].id
  load_balancing_scheme = ""
  target                = google_sql_database_instance.this.psc_service_attachment_link
}

resource "google_dns_managed_zone" "database" {
  count      = var.psc ? 1 : 0
  depends_on = [google_project_service.this]
  name       = "${var.name}-database"
  dns_name   = google_sql_database_instance.this.dns_name
  visibility = "private"

  private_visibility_config {
    networks {
      network_url = google_compute_network.this.id
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
