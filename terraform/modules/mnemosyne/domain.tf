# A domain of one's own: load balancer, certificate, Cloud Armor, and Identity-Aware Proxy where asked for.

locals {
  with_domain     = var.domain == "" ? 0 : 1
  domain_leads_to = var.domain_only ? [for answer in try(jsondecode(data.http.domain[0].response_body).Answer, []) : answer.data] : []
}

resource "google_compute_global_address" "mcp" {
  count      = local.with_domain
  labels     = local.labels
  depends_on = [time_sleep.services]
  name       = "${var.name}-mcp"
}

# A certificate cannot change its domain, nor be taken away while it is used: each domain has one of another name. The first
# domain's has the name that it always had.
resource "terraform_data" "first_domain" {
  input = var.domain

  lifecycle {
    ignore_changes = [input]
  }
}

resource "google_compute_managed_ssl_certificate" "mcp" {
  count      = local.with_domain
  depends_on = [time_sleep.services]
  name       = terraform_data.first_domain.input == var.domain ? "${var.name}-mcp" : "${var.name}-mcp-${substr(sha256(var.domain), 0, 8)}"

  managed {
    domains = [var.domain]
  }

  lifecycle {
    create_before_destroy = true
  }
}

# Where the domain leads, as everybody sees it: https://developers.google.com/speed/public-dns/docs/doh/json.
data "http" "domain" {
  count = var.domain_only ? 1 : 0
  url   = "https://dns.google/resolve?type=A&name=${var.domain}"

  lifecycle {
    postcondition {
      condition     = length(try(jsondecode(self.response_body).Answer, [])) > 0
      error_message = "domain_only would leave no way in: ${var.domain} has no address yet. Apply with domain_only = false, give it an A record with `terraform output domain_address`, wait until its certificate is ACTIVE, and then set domain_only."
    }
  }
}

resource "google_compute_region_network_endpoint_group" "mcp" {
  count                 = local.with_domain
  name                  = "${var.name}-mcp"
  region                = var.region
  network_endpoint_type = "SERVERLESS"

  cloud_run {
    service = google_cloudfunctions2_function.mcp.name
  }
}

resource "google_compute_security_policy" "mcp" {
  #checkov:skip=CKV_GCP_73: Nothing here is Java, and memories may well speak of log4j.
  count      = local.with_domain
  depends_on = [time_sleep.services]
  name       = "${var.name}-mcp"

  rule {
    action      = "throttle"
    priority    = 1000
    description = "One address may not drown the others."

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
    description = "Everybody else."

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
  name            = "${var.name}-mcp"
  default_service = google_compute_backend_service.mcp[0].id
}

resource "google_compute_target_https_proxy" "mcp" {
  count            = local.with_domain
  name             = "${var.name}-mcp"
  url_map          = google_compute_url_map.mcp[0].id
  ssl_certificates = [google_compute_managed_ssl_certificate.mcp[0].id]
}

resource "google_compute_global_forwarding_rule" "mcp" {
  count                 = local.with_domain
  name                  = "${var.name}-mcp"
  ip_address            = google_compute_global_address.mcp[0].id
  load_balancing_scheme = "EXTERNAL_MANAGED"
  port_range            = "443"
  target                = google_compute_target_https_proxy.mcp[0].id
  labels                = local.labels
}

# Through the proxy pass those named; they send its token as Proxy-Authorization, beside their own for mcp.
resource "google_iap_web_backend_service_iam_member" "mcp" {
  for_each            = var.iap ? toset(var.invokers) : toset([])
  web_backend_service = google_compute_backend_service.mcp[0].name
  role                = "roles/iap.httpsResourceAccessor"
  member              = each.key
}
