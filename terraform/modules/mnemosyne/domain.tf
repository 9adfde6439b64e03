# These resources exist if domain is set: a load balancer, a certificate and Cloud Armor; with iap also Identity-Aware
# Proxy.

locals {
  with_domain      = var.domain == "" ? 0 : 1
  domain_addresses = var.domain_only ? [for answer in try(jsondecode(data.http.domain[0].response_body).Answer, []) : answer.data] : []
}

resource "google_compute_global_address" "mcp" {
  count      = local.with_domain
  project    = var.project
  labels     = local.labels
  depends_on = [time_sleep.services]
  name       = "${var.name}-mcp"
}

# The name of the certificate depends on the domain. A certificate cannot change its domain, and cannot be deleted
# while it is in use, so a new domain needs a certificate with another name.
resource "google_compute_managed_ssl_certificate" "mcp" {
  count      = local.with_domain
  depends_on = [time_sleep.services]
  project    = var.project
  name       = "${var.name}-mcp-${substr(sha256(var.domain), 0, 8)}"

  managed {
    domains = [var.domain]
  }

  lifecycle {
    create_before_destroy = true
  }
}

# Look up the domain's addresses in public DNS: https://developers.google.com/speed/public-dns/docs/doh/json
data "http" "domain" {
  count = var.domain_only ? 1 : 0
  url   = "https://dns.google/resolve?type=A&name=${var.domain}"

  lifecycle {
    postcondition {
      condition     = length(try(jsondecode(self.response_body).Answer, [])) > 0
      error_message = "domain_only would make mcp unreachable: ${var.domain} has no address yet. Apply with domain_only = false, give it an A record with `terraform -chdir=terraform output domain_address`, wait until its certificate is ACTIVE, and then set domain_only."
    }
  }
}

resource "google_compute_region_network_endpoint_group" "mcp" {
  count                 = local.with_domain
  project               = var.project
  name                  = "${var.name}-mcp"
  region                = var.region
  network_endpoint_type = "SERVERLESS"

  cloud_run {
    service = google_cloudfunctions2_function.serving["mcp"].name
  }
}

resource "google_compute_security_policy" "mcp" {
  #checkov:skip=CKV_GCP_73: No part is in Java, and a rule against log4j would refuse memories that mention log4j.
  count      = local.with_domain
  project    = var.project
  depends_on = [time_sleep.services]
  name       = "${var.name}-mcp"

  rule {
    action      = "throttle"
    priority    = 1000
    description = "Limits requests per address."

    match {
      versioned_expr = "SRC_IPS_V1"
      config {
        src_ip_ranges = ["*"]
      }
    }

    rate_limit_options {
      conform_action = "allow"
      exceed_action  = "deny(429)"
      enforce_on_key = "IP"

      rate_limit_threshold {
        count        = 1200
        interval_sec = 60
      }
    }
  }

  rule {
    action      = "allow"
    priority    = 2147483647
    description = "Allows all other requests."

    match {
      versioned_expr = "SRC_IPS_V1"
      config {
        src_ip_ranges = ["*"]
      }
    }
  }
}

resource "google_compute_backend_service" "mcp" {
  count                 = local.with_domain
  project               = var.project
  name                  = "${var.name}-mcp"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  security_policy       = google_compute_security_policy.mcp[0].id

  backend {
    group = google_compute_region_network_endpoint_group.mcp[0].id
  }

  dynamic "iap" {
    for_each = var.iap ? [1] : []
    content {
      enabled = true
    }
  }
}

resource "google_compute_url_map" "mcp" {
  count           = local.with_domain
  project         = var.project
  name            = "${var.name}-mcp"
  default_service = google_compute_backend_service.mcp[0].id
}

resource "google_compute_target_https_proxy" "mcp" {
  count            = local.with_domain
  project          = var.project
  name             = "${var.name}-mcp"
  url_map          = google_compute_url_map.mcp[0].id
  ssl_certificates = [google_compute_managed_ssl_certificate.mcp[0].id]
}

resource "google_compute_global_forwarding_rule" "mcp" {
  count                 = local.with_domain
  project               = var.project
  name                  = "${var.name}-mcp"
  ip_address            = google_compute_global_address.mcp[0].id
  load_balancing_scheme = "EXTERNAL_MANAGED"
  port_range            = "443"
  target                = google_compute_target_https_proxy.mcp[0].id
  labels                = local.labels
}

# Identity-Aware Proxy has an OAuth client that Google manages, and with which only people in a browser can log in.
# Programs use other OAuth clients (iap_clients), or a JWT that a service account signs:
# https://cloud.google.com/iap/docs/custom-oauth-configuration
resource "google_iap_settings" "mcp" {
  count = length(var.iap_clients) == 0 ? 0 : local.with_domain
  name  = "projects/${local.project_number}/iap_web/compute/services/${google_compute_backend_service.mcp[0].name}"

  access_settings {
    oauth_settings {
      programmatic_clients = var.iap_clients
    }
  }
}

# Identity-Aware Proxy admits the invokers. An invoker sends the token for the proxy in the header Proxy-Authorization,
# and the token for mcp in the header Authorization.
resource "google_iap_web_backend_service_iam_member" "mcp" {
  for_each            = var.iap ? toset(var.invokers) : toset([])
  project             = var.project
  web_backend_service = google_compute_backend_service.mcp[0].name
  role                = "roles/iap.httpsResourceAccessor"
  member              = each.key
}
