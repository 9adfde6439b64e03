locals {
  # All instances at their most, the migration, and ten for operators and Cloud SQL itself.
  connections_needed = (
    var.max_instances.mcp * var.pool_size.mcp +
    var.max_instances.ingest * var.pool_size.ingest +
    var.max_instances.dead_letter * var.pool_size.dead_letter +
    1 + 10
  )
}

# An instance's name cannot be used again for a week after it is deleted.
resource "random_id" "database" {
  byte_length = 3
}

resource "google_sql_database_instance" "this" {
  name                = "${var.name}-${random_id.database.hex}"
  region              = var.region
  database_version    = var.postgres_version
  deletion_protection = var.deletion_protection

  settings {
    edition                     = var.sql_edition
    tier                        = var.sql_tier
    availability_type           = var.availability_type
    deletion_protection_enabled = var.deletion_protection
    disk_autoresize             = true
    disk_type                   = "PD_SSD"

    ip_configuration {
      ipv4_enabled    = false
      private_network = var.psc ? null : google_compute_network.this.id
      ssl_mode        = "TRUSTED_CLIENT_CERTIFICATE_REQUIRED"

      dynamic "psc_config" {
        for_each = var.psc ? [1] : []
        content {
          psc_enabled               = true
          allowed_consumer_projects = [var.project]
        }
      }
    }

    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true
      start_time                     = "02:00"
      transaction_log_retention_days = 7

      backup_retention_settings {
        retained_backups = 14
      }
    }

    database_flags {
      name  = "cloudsql.iam_authentication"
      value = "on"
    }
    database_flags {
      name  = "max_connections"
      value = tostring(var.max_connections)
    }
    database_flags {
      name  = "log_min_duration_statement"
      value = "1000"
    }

    insights_config {
      query_insights_enabled = true
    }

    maintenance_window {
      day          = 7
      hour         = 3
      update_track = "stable"
    }
  }

  lifecycle {
    precondition {
      condition     = local.connections_needed <= var.max_connections
      error_message = "All instances at their most would hold ${local.connections_needed} connections, and the database takes ${var.max_connections}: lower max_instances or pool_size, or raise max_connections (and the tier)."
    }
  }

  depends_on = [google_service_networking_connection.services, google_project_service.this]
}

# It goes with its instance: alone, neither it nor its users could be removed while anything of theirs is there.
resource "google_sql_database" "this" {
  name            = "mnemosyne"
  instance        = google_sql_database_instance.this.name
  deletion_policy = "ABANDON"
}

# The functions log in as themselves; what they may do there, the migration grants.
resource "google_sql_user" "functions" {
  for_each        = toset(["mcp", "ingest", "dead-letter"])
  instance        = google_sql_database_instance.this.name
  type            = "CLOUD_IAM_SERVICE_ACCOUNT"
  deletion_policy = "ABANDON"
  name            = trimsuffix(google_service_account.functions[each.key].email, ".gserviceaccount.com")
}

# The schema's owner may create the extension and roles, which no IAM user may.
resource "google_sql_user" "owner" {
  instance            = google_sql_database_instance.this.name
  type                = "BUILT_IN"
  name                = "mnemosyne-owner"
  password_wo         = ephemeral.random_password.owner.result
  password_wo_version = local.owner_password_version
  deletion_policy     = "ABANDON"
}
