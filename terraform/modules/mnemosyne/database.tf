locals {
  # All instances at their most, the migration, and ten for operators and Cloud SQL itself.
  connections_needed = (
    var.max_instances.mcp * var.pool_size.mcp +
    var.max_instances.ingest * var.pool_size.ingest +
    var.max_instances.dead_letter * var.pool_size.dead_letter +
    length(local.import_object) * local.import_object_instances * local.import_object_connections +
    length(local.auth) * local.auth_instances * local.auth_connections +
    1 + 10
  )
}

locals {
  # Each tier's memory in MB, as far as its name tells: https://cloud.google.com/sql/docs/postgres/instance-settings.
  tier_memory = merge(
    { db-f1-micro = 614, db-g1-small = 1740 },
    can(regex("^db-custom-[0-9]+-[0-9]+$", var.sql_tier)) ? { (var.sql_tier) = tonumber(split("-", var.sql_tier)[3]) } : {},
    can(regex("^db-perf-optimized-N-[0-9]+$", var.sql_tier)) ? { (var.sql_tier) = 8192 * tonumber(split("-", var.sql_tier)[4]) } : {},
  )

  # A connection takes some ten megabytes of the server, and its cache must fit beside them all.
  connections_of_tier = floor(lookup(local.tier_memory, var.sql_tier, 16 * 1000) / 16)
}

# An instance's name cannot be used again for a week after it is deleted.
resource "random_id" "database" {
  byte_length = 3
}

resource "google_sql_database_instance" "this" {
  #checkov:skip=CKV_GCP_79: postgres_version is the operator's choice, and a major upgrade takes the database down.
  #checkov:skip=CKV_GCP_108: Looking up the names of private addresses holds up every connection.
  #checkov:skip=CKV_GCP_109: Warnings are worth reading; log_error_verbosity keeps contents out of all messages.
  #checkov:skip=CKV_GCP_110: pgAudit writes statements with their parameters, which are memories; audit events are the functions' own.
  #checkov:skip=CKV_GCP_111: So does log_statement.
  #checkov:skip=CKV2_GCP_13: Durations are Query Insights' to tell, without parameters.
  name                = var.database_instance_name == "" ? "${var.name}-${random_id.database.hex}" : var.database_instance_name
  region              = var.region
  database_version    = var.postgres_version
  deletion_protection = var.deletion_protection
  encryption_key_name = var.kms_key

  settings {
    edition                     = var.sql_edition
    tier                        = var.sql_tier
    availability_type           = var.availability_type
    deletion_protection_enabled = var.deletion_protection
    disk_autoresize             = true
    disk_autoresize_limit       = var.disk_limit_gb
    disk_type                   = "PD_SSD"
    user_labels                 = local.labels

    ip_configuration {
      ipv4_enabled    = false
      private_network = var.psc ? null : local.network_id
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
    # No log_min_duration_statement: slow statements are logged with their parameters, which are memories and questions.
    # Query Insights shows them without.
    database_flags {
      name  = "log_checkpoints"
      value = "on"
    }
    database_flags {
      name  = "log_connections"
      value = "on"
    }
    database_flags {
      name  = "log_disconnections"
      value = "on"
    }
    database_flags {
      name  = "log_lock_waits"
      value = "on"
    }
    # The detail of an error may be a whole row: "Failing row contains (…)".
    database_flags {
      name  = "log_error_verbosity"
      value = "terse"
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
    prevent_destroy = true

    precondition {
      condition     = length(local.changed_choices) == 0
      error_message = "This cannot be changed after the first apply, because the database would be made anew and every memory lost: ${join("; ", local.changed_choices)}. Set it back. To have it otherwise, make a second deployment with another name, move the memories with mnemosyne export and import, and destroy this one."
    }
    precondition {
      condition     = var.max_connections <= local.connections_of_tier
      error_message = "A ${var.sql_tier} bears about ${local.connections_of_tier} connections (16 MB of its memory each), and max_connections is ${var.max_connections}: take a larger sql_tier, such as db-custom-2-8192, or lower max_connections, and with it max_instances or pool_size."
    }
    precondition {
      condition     = local.connections_needed <= var.max_connections
      error_message = "All instances at their most would hold ${local.connections_needed} connections, and the database takes ${var.max_connections}: lower max_instances or pool_size, or raise max_connections (and the tier)."
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agents, google_service_networking_connection.services, time_sleep.services]
}

# It goes with its instance: alone, neither it nor its users could be removed while anything of theirs is there.
resource "google_sql_database" "this" {
  name            = "mnemosyne"
  instance        = google_sql_database_instance.this.name
  deletion_policy = "ABANDON"
}

# The functions log in as themselves; what they may do there, the migration grants.
resource "google_sql_user" "functions" {
  for_each        = toset(concat(["mcp", "ingest", "dead-letter"], local.import_object, local.auth))
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
  password_wo_version = var.owner_password_version
  deletion_policy     = "ABANDON"
}
