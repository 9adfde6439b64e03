locals {
  # The sum of the connections of all instances at their maximum, of the function `migrate`, and of ten connections
  # for operators and Cloud SQL itself.
  connections_needed = (
    var.max_instances.mcp * var.pool_size.mcp +
    var.max_instances.ingest * var.pool_size.ingest +
    var.max_instances.dead_letter * var.pool_size.dead_letter +
    length(local.import_object) * local.import_object_instances * local.import_object_connections +
    length(local.auth) * local.auth_instances * local.auth_connections +
    local.migrate_connections + 10
  )
}

locals {
  # Memory of each tier in MB. The names of custom tiers contain this number:
  # https://cloud.google.com/sql/docs/postgres/instance-settings
  tier_memory = merge(
    { db-f1-micro = 614, db-g1-small = 1740 },
    can(regex("^db-custom-[0-9]+-[0-9]+$", var.sql_tier)) ? { (var.sql_tier) = tonumber(split("-", var.sql_tier)[3]) } : {},
    can(regex("^db-perf-optimized-N-[0-9]+$", var.sql_tier)) ? { (var.sql_tier) = 8192 * tonumber(split("-", var.sql_tier)[4]) } : {},
  )

  # The number of connections for which a tier has enough memory. Each connection takes about ten megabytes, and the
  # server also needs memory for its cache, so 16 MB are counted for each connection. For a tier whose memory is not
  # known here, the number is 1,000.
  connections_of_tier = floor(lookup(local.tier_memory, var.sql_tier, 16 * 1000) / 16)
}

# The name of a deleted instance cannot be used again for a week.
resource "random_id" "database" {
  byte_length = 3
}

resource "google_sql_database_instance" "this" {
  #checkov:skip=CKV_GCP_52: log_connections is on, except in PostgreSQL 18, where it is a list.
  #checkov:skip=CKV_GCP_79: The operator chooses postgres_version, because a major upgrade stops the database for a while.
  #checkov:skip=CKV_GCP_108: To log host names, the server would look up the names of private addresses, which delays every connection.
  #checkov:skip=CKV_GCP_109: Warnings are useful, and log_error_verbosity keeps contents out of all messages.
  #checkov:skip=CKV_GCP_110: pgAudit logs statements with their parameters, which are memories. The functions log audit events.
  #checkov:skip=CKV_GCP_111: log_statement also logs statements with their parameters.
  #checkov:skip=CKV2_GCP_13: Query Insights shows the durations of statements without their parameters.
  project             = var.project
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
    retain_backups_on_delete    = true
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
          psc_enabled = true
          # With a Shared VPC, the endpoint is in this project, and its network in the host project.
          allowed_consumer_projects = var.network == null ? [var.project] : distinct([var.project, split("/", var.network.network)[1]])
        }
      }
    }

    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true
      location                       = var.backup_location == "" ? null : var.backup_location
      start_time                     = "02:00"
      transaction_log_retention_days = 7

      backup_retention_settings {
        retained_backups = 14
      }
    }

    # Cloud SQL takes this last backup when the instance is deleted.
    final_backup_config {
      enabled        = var.final_backup_days > 0
      retention_days = var.final_backup_days > 0 ? var.final_backup_days : null
    }

    database_flags {
      name  = "cloudsql.iam_authentication"
      value = "on"
    }
    database_flags {
      name  = "max_connections"
      value = tostring(var.max_connections)
    }
    # log_min_duration_statement is not set, because it logs slow statements with their parameters, which are memories
    # and questions. Query Insights shows slow statements without parameters.
    database_flags {
      name  = "log_checkpoints"
      value = "on"
    }
    # In PostgreSQL 18 the value of log_connections is a list of stages instead of on or off. Cloud SQL does not
    # document which values it accepts.
    dynamic "database_flags" {
      for_each = var.postgres_version == "POSTGRES_18" ? [] : ["log_connections"]
      content {
        name  = database_flags.value
        value = "on"
      }
    }
    database_flags {
      name  = "log_disconnections"
      value = "on"
    }
    database_flags {
      name  = "log_lock_waits"
      value = "on"
    }
    # With the value `terse`, the log leaves out the detail of an error, because the detail can contain a whole row:
    # "Failing row contains (…)".
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
      condition     = var.max_connections <= local.connections_of_tier
      error_message = "A ${var.sql_tier} has memory for about ${local.connections_of_tier} connections (16 MB each), and max_connections is ${var.max_connections}: set a larger sql_tier, such as db-custom-2-8192, or lower max_connections together with max_instances or pool_size."
    }
    precondition {
      condition     = local.connections_needed <= var.max_connections
      error_message = "All instances together can hold ${local.connections_needed} connections, and max_connections is ${var.max_connections}: lower max_instances or pool_size, or raise max_connections and, if necessary, sql_tier."
    }
  }

  depends_on = [google_service_networking_connection.services, time_sleep.key_grants]
}

# The database and its users are deleted with the instance. Cloud SQL refuses to delete them separately while they own
# objects.
resource "google_sql_database" "this" {
  project         = var.project
  name            = "mnemosyne"
  instance        = google_sql_database_instance.this.name
  deletion_policy = "ABANDON"
}

# The functions log in to the database as their service accounts. The migration grants each of them its rights in the
# database.
resource "google_sql_user" "functions" {
  for_each        = toset(local.serving_names)
  project         = var.project
  instance        = google_sql_database_instance.this.name
  type            = "CLOUD_IAM_SERVICE_ACCOUNT"
  deletion_policy = "ABANDON"
  name            = trimsuffix(google_service_account.functions[each.key].email, ".gserviceaccount.com")
}

# This user owns the schema and creates extensions and roles. An IAM user has no right to create these.
resource "google_sql_user" "owner" {
  project             = var.project
  instance            = google_sql_database_instance.this.name
  type                = "BUILT_IN"
  name                = "mnemosyne-owner"
  password_wo         = ephemeral.random_password.owner.result
  password_wo_version = var.owner_password_version
  deletion_policy     = "ABANDON"
}
