variable "availability_type" {
  description = "Availability of the database. ZONAL: one zone. REGIONAL: a standby in a second zone, at twice the price."
  type        = string
  default     = "ZONAL"
  nullable    = false

  validation {
    condition     = contains(["ZONAL", "REGIONAL"], var.availability_type)
    error_message = "availability_type must be ZONAL or REGIONAL, got ${var.availability_type}."
  }
}

variable "backup_location" {
  description = "Location of the database's backups: a region, or a multi-region such as eu; empty: the closest multi-region."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = contains(concat(["", "asia", "eu", "us"], local.regions), var.backup_location)
    error_message = "backup_location must be a region, or asia, eu or us, got ${var.backup_location}. Add a newer region to terraform/modules/mnemosyne/regions.tf."
  }
}

variable "database_instance_name" {
  description = "Name of the database instance; empty: a generated name. If the instance was deleted, set another name, because Google refuses the name of a deleted instance for a week."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.database_instance_name == "" || can(regex("^[a-z][a-z0-9-]{0,96}[a-z0-9]$", var.database_instance_name))
    error_message = "database_instance_name must contain lower-case letters, digits and hyphens only, and begin with a letter, got ${var.database_instance_name}."
  }
  # https://cloud.google.com/sql/docs/postgres/instance-settings
  validation {
    condition     = length("${var.project}:${var.database_instance_name}") <= 98
    error_message = "database_instance_name and project must have at most 97 characters together, got ${length(var.database_instance_name) + length(var.project)}: choose a shorter name than ${var.database_instance_name}."
  }
}

variable "deletion_protection" {
  description = "Whether Terraform and Google Cloud refuse to delete the database."
  type        = bool
  default     = true
  nullable    = false
}

variable "disk_limit_gb" {
  description = "Size in GB up to which the database's disk grows automatically; 0: no limit."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = (var.disk_limit_gb == 0 || var.disk_limit_gb >= 10) && floor(var.disk_limit_gb) == var.disk_limit_gb
    error_message = "disk_limit_gb must be 0 or a whole number of at least 10, got ${var.disk_limit_gb}."
  }
}

variable "final_backup_days" {
  description = "Number of days for which Cloud SQL keeps the last backup, which it takes when the instance is deleted; 0: no last backup."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.final_backup_days >= 0 && var.final_backup_days <= 365 && floor(var.final_backup_days) == var.final_backup_days
    error_message = "final_backup_days must be a whole number between 0 and 365, got ${var.final_backup_days}."
  }
}

variable "max_connections" {
  description = "Maximum number of connections to the database, which must be enough for the connection pools of all instances."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.max_connections >= 25 && var.max_connections <= 1000 && floor(var.max_connections) == var.max_connections
    error_message = "max_connections must be a whole number between 25 and 1000, got ${var.max_connections}."
  }
}

variable "owner_password_version" {
  description = "Version of the password of the database user that owns the schema. A higher number sets a new password."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.owner_password_version >= 1 && floor(var.owner_password_version) == var.owner_password_version
    error_message = "owner_password_version must be a whole number of at least 1, got ${var.owner_password_version}."
  }
}

variable "pool_size" {
  description = "Number of database connections of one instance of each function."
  type = object({
    mcp         = number
    ingest      = number
    dead_letter = number
  })
  default = {
    mcp         = 8
    ingest      = 4
    dead_letter = 2
  }
  nullable = false

  validation {
    condition     = alltrue([for size in values(var.pool_size) : size >= 1 && size <= 50 && floor(size) == size])
    error_message = "pool_size must be whole numbers between 1 and 50, got ${join(", ", [for name, size in var.pool_size : "${name} = ${size}"])}."
  }
}

variable "postgres_version" {
  description = "PostgreSQL version of Cloud SQL."
  type        = string
  default     = "POSTGRES_17"
  nullable    = false

  validation {
    condition     = contains(["POSTGRES_16", "POSTGRES_17", "POSTGRES_18"], var.postgres_version)
    error_message = "postgres_version must be POSTGRES_16, POSTGRES_17 or POSTGRES_18, got ${var.postgres_version}."
  }
}

variable "sql_edition" {
  description = "Edition of Cloud SQL: ENTERPRISE, or ENTERPRISE_PLUS for larger machines."
  type        = string
  default     = "ENTERPRISE"
  nullable    = false

  validation {
    condition     = contains(["ENTERPRISE", "ENTERPRISE_PLUS"], var.sql_edition)
    error_message = "sql_edition must be ENTERPRISE or ENTERPRISE_PLUS, got ${var.sql_edition}."
  }
  validation {
    condition     = (var.sql_edition == "ENTERPRISE_PLUS") == startswith(var.sql_tier, "db-perf-optimized-")
    error_message = "sql_edition ${var.sql_edition} does not have ${var.sql_tier}: ENTERPRISE_PLUS has db-perf-optimized-N-2 and larger tiers, ENTERPRISE has the others."
  }
}

variable "sql_tier" {
  description = "Machine type of the database: db-g1-small for a start, db-custom-2-8192 for a million memories."
  type        = string
  default     = "db-g1-small"
  nullable    = false

  validation {
    condition     = can(regex("^db-(f1-micro|g1-small|custom-[0-9]+-[0-9]+|perf-optimized-N-(2|4|8|16|32|48|64|80|96|128))$", var.sql_tier))
    error_message = "sql_tier must be db-f1-micro, db-g1-small, db-custom-CPUS-MB such as db-custom-2-8192, or db-perf-optimized-N-CPUS with 2 to 128 CPUs, got ${var.sql_tier}."
  }
  # https://cloud.google.com/sql/docs/postgres/create-instance#machine-types
  validation {
    condition = !can(regex("^db-custom-[0-9]+-[0-9]+$", var.sql_tier)) || try(alltrue([
      for memory, cpus in { (tonumber(split("-", var.sql_tier)[3])) = tonumber(split("-", var.sql_tier)[2]) } :
      (cpus == 1 || cpus % 2 == 0) && cpus <= 96 && memory % 256 == 0 && memory >= max(3840, 921.6 * cpus) && memory <= 6656 * cpus
    ]), false)
    error_message = "sql_tier must be db-custom-CPUS-MB with 1 or an even number of up to 96 CPUs and a multiple of 256 MB, at least 3840 MB and 0.9 to 6.5 GB for each CPU, such as db-custom-2-8192, got ${var.sql_tier}."
  }
}
