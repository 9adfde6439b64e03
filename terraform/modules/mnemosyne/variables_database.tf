variable "availability_type" {
  description = "ZONAL, or REGIONAL for a standby in another zone at twice the price."
  type        = string
  default     = "ZONAL"

  validation {
    condition     = contains(["ZONAL", "REGIONAL"], var.availability_type)
    error_message = "availability_type must be ZONAL or REGIONAL."
  }
}

variable "database_instance_name" {
  description = "The database instance's name, where it is one that was cloned or restored and imported; empty: one is made up."
  type        = string
  default     = ""

  validation {
    condition     = var.database_instance_name == "" || can(regex("^[a-z][a-z0-9-]{0,96}[a-z0-9]$", var.database_instance_name))
    error_message = "database_instance_name must be an instance's name: lower-case letters, digits and hyphens."
  }
}

variable "deletion_protection" {
  description = "Whether the database refuses to be destroyed, by Terraform and by Google Cloud alike."
  type        = bool
  default     = true
}

variable "disk_limit_gb" {
  description = "How far the database's disk may grow by itself, in GB; 0: without a limit."
  type        = number
  default     = 0

  validation {
    condition     = var.disk_limit_gb == 0 || var.disk_limit_gb >= 10
    error_message = "disk_limit_gb must be 0 or at least 10."
  }
}

variable "embedding_dimension" {
  description = "Length of the embeddings; fixed when the schema is created, changed by mnemosyne reembed."
  type        = number
  default     = 768

  validation {
    condition     = contains([256, 512, 768, 1536, 3072], var.embedding_dimension)
    error_message = "embedding_dimension must be 256, 512, 768, 1536 or 3072."
  }
}

variable "max_connections" {
  description = "Connections the database takes; all instances' pools together must fit."
  type        = number
  default     = 100

  validation {
    condition     = var.max_connections >= 25 && var.max_connections <= 1000
    error_message = "max_connections must be between 25 and 1000."
  }
}

variable "owner_password_version" {
  description = "Raise it to have a new password for the schema's owner."
  type        = number
  default     = 1

  validation {
    condition     = var.owner_password_version >= 1 && floor(var.owner_password_version) == var.owner_password_version
    error_message = "owner_password_version must be a whole number from 1 up."
  }
}

variable "pool_size" {
  description = "Database connections of one instance, of each function."
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

  validation {
    condition     = alltrue([for size in values(var.pool_size) : size >= 1 && size <= 50])
    error_message = "pool_size must be between 1 and 50 each."
  }
}

variable "postgres_version" {
  description = "Cloud SQL's PostgreSQL version."
  type        = string
  default     = "POSTGRES_17"

  validation {
    condition     = contains(["POSTGRES_15", "POSTGRES_16", "POSTGRES_17", "POSTGRES_18"], var.postgres_version)
    error_message = "postgres_version must be POSTGRES_15 or newer."
  }
}

variable "psc" {
  description = "Whether the database is reached over Private Service Connect instead of private services access. Fixed with the first apply."
  type        = bool
  default     = false
}

variable "sql_edition" {
  description = "ENTERPRISE, or ENTERPRISE_PLUS for larger machines."
  type        = string
  default     = "ENTERPRISE"

  validation {
    condition     = contains(["ENTERPRISE", "ENTERPRISE_PLUS"], var.sql_edition)
    error_message = "sql_edition must be ENTERPRISE or ENTERPRISE_PLUS."
  }
  validation {
    condition     = (var.sql_edition == "ENTERPRISE_PLUS") == startswith(var.sql_tier, "db-perf-optimized-")
    error_message = "sql_edition ${var.sql_edition} does not have a ${var.sql_tier}: ENTERPRISE_PLUS has db-perf-optimized-N-2 and larger, ENTERPRISE the others."
  }
}

variable "sql_tier" {
  description = "The database's machine: db-g1-small to begin with, db-custom-2-8192 for a million memories."
  type        = string
  default     = "db-g1-small"

  validation {
    condition     = startswith(var.sql_tier, "db-")
    error_message = "sql_tier must be a tier, such as db-g1-small or db-custom-2-8192."
  }
}
