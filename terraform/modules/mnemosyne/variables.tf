variable "alert_emails" {
  description = "Addresses that alerts are sent to."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for address in var.alert_emails : strcontains(address, "@")])
    error_message = "Each of alert_emails must be an e-mail address."
  }
}

variable "auth_mode" {
  description = "How callers of mcp show who they are: api_key, oidc, or iam, where Cloud Run checks them."
  type        = string
  default     = "api_key"

  validation {
    condition     = contains(["api_key", "oidc", "iam"], var.auth_mode)
    error_message = "auth_mode must be api_key, oidc or iam."
  }
}

variable "availability_type" {
  description = "ZONAL, or REGIONAL for a standby in another zone at twice the price."
  type        = string
  default     = "ZONAL"

  validation {
    condition     = contains(["ZONAL", "REGIONAL"], var.availability_type)
    error_message = "availability_type must be ZONAL or REGIONAL."
  }
}

variable "billing_account" {
  description = "The billing account to keep a budget on; empty: none is kept."
  type        = string
  default     = ""
}

variable "budget" {
  description = "Monthly budget in the billing account's currency; mails are sent at half, nine tenths and all of it."
  type        = number
  default     = 100

  validation {
    condition     = var.budget > 0
    error_message = "budget must be more than 0."
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
  default     = 200

  validation {
    condition     = var.disk_limit_gb == 0 || var.disk_limit_gb >= 10
    error_message = "disk_limit_gb must be 0 or at least 10."
  }
}

variable "domain" {
  description = "A domain name of your own for mcp, behind a load balancer with Cloud Armor; empty: the run.app address."
  type        = string
  default     = ""

  validation {
    condition     = var.domain == "" || can(regex("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$", var.domain))
    error_message = "domain must be a domain name that public DNS can have, such as memory.example.com: no scheme, no path, no port."
  }
}

variable "domain_only" {
  description = "Whether mcp is reached through its domain alone; set it once the domain's certificate is ACTIVE."
  type        = bool
  default     = false

  validation {
    condition     = !var.domain_only || var.domain != ""
    error_message = "domain_only needs a domain: without one there would be no way in."
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

variable "embedding_model" {
  description = "The Gemini model that turns text into embeddings."
  type        = string
  default     = "gemini-embedding-001"

  validation {
    condition     = startswith(var.embedding_model, "gemini-embedding-")
    error_message = "embedding_model must be one of Gemini's embedding models."
  }
}

variable "gemini_api_key_secret" {
  description = "A Secret Manager secret with a Gemini API key; empty: Vertex AI with the functions' own identities."
  type        = string
  default     = ""
}

variable "gemini_api_key_version" {
  description = "The version of gemini_api_key_secret to use: a number makes a new key a new revision, latest is read by new instances alone."
  type        = string
  default     = "latest"

  validation {
    condition     = can(regex("^(latest|[1-9][0-9]*)$", var.gemini_api_key_version))
    error_message = "gemini_api_key_version must be a version's number, or latest."
  }
}

variable "iap" {
  description = "Whether Identity-Aware Proxy stands before the load balancer and admits the invokers alone; needs a domain."
  type        = bool
  default     = false

  validation {
    condition     = !var.iap || (var.domain != "" && var.auth_mode != "iam")
    error_message = "iap needs a domain, and api_key or oidc behind it: it calls mcp under an identity of its own."
  }
}

variable "invokers" {
  description = "Members who may call mcp with auth_mode iam, or pass iap, such as user:ada@example.com."
  type        = list(string)
  default     = []

  validation {
    condition     = !contains(var.invokers, "allUsers") && !contains(var.invokers, "allAuthenticatedUsers")
    error_message = "invokers must be named: with auth_mode iam nobody may call unauthenticated."
  }
}

variable "kms_key" {
  description = "A Cloud KMS key that encrypts database, topics, secret, sources, images and functions, as projects/P/locations/L/keyRings/R/cryptoKeys/K; null: Google's own. Fixed with the first apply."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "kms_key must be projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
  validation {
    condition     = var.kms_key == null || strcontains(coalesce(var.kms_key, "-"), "/locations/${var.region}/")
    error_message = "kms_key must be a key in ${var.region}: the database takes one of its own region alone."
  }
}

variable "labels" {
  description = "Labels on everything that can have some, beside app and deployment."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for key, value in var.labels : can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))])
    error_message = "labels must be lower-case letters, digits, hyphens and underscores, at most 63, and begin with a letter."
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

variable "max_delivery_attempts" {
  description = "How often a message is tried before it becomes a dead letter."
  type        = number
  default     = 20

  validation {
    condition     = var.max_delivery_attempts >= 5 && var.max_delivery_attempts <= 100
    error_message = "max_delivery_attempts must be between 5 and 100, says Pub/Sub."
  }
}

variable "max_instances" {
  description = "Instances at most, of each function that scales."
  type = object({
    mcp         = number
    ingest      = number
    dead_letter = number
  })
  default = {
    mcp         = 5
    ingest      = 5
    dead_letter = 1
  }

  validation {
    condition     = alltrue([for count in values(var.max_instances) : count >= 1 && count <= 100])
    error_message = "max_instances must be between 1 and 100 each."
  }
}

variable "mcp_min_instances" {
  description = "Instances of mcp kept warm; 0 costs nothing at idle and a second at the first call."
  type        = number
  default     = 0

  validation {
    condition     = var.mcp_min_instances >= 0
    error_message = "mcp_min_instances must not be negative."
  }
}

variable "name" {
  description = "What every resource's name begins with. Fixed with the first apply."
  type        = string
  default     = "mnemosyne"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,14}[a-z0-9]$", var.name))
    error_message = "name must be 3 to 16 lower-case letters, digits and hyphens, beginning with a letter."
  }
}

variable "network" {
  description = "A network that is there, and its subnetwork in the region, by their whole ids (projects/P/global/networks/N, projects/P/regions/R/subnetworks/S), also of a Shared VPC's host project; null: one is made. Without psc it must have private services access. Fixed with the first apply."
  type = object({
    network    = string
    subnetwork = string
  })
  default = null

  validation {
    condition     = var.network == null || can(regex("^projects/[^/]+/global/networks/[^/]+$", var.network.network))
    error_message = "network.network must be projects/P/global/networks/N."
  }
  validation {
    condition     = var.network == null || can(regex("^projects/[^/]+/regions/[^/]+/subnetworks/[^/]+$", var.network.subnetwork))
    error_message = "network.subnetwork must be projects/P/regions/R/subnetworks/S."
  }
}

variable "oidc_audience" {
  description = "The audience that tokens must be for, with auth_mode oidc."
  type        = string
  default     = ""

  validation {
    condition     = (var.auth_mode == "oidc") == (var.oidc_audience != "")
    error_message = "oidc_audience belongs to auth_mode oidc, and is needed there."
  }
}

variable "oidc_issuer" {
  description = "The issuer whose tokens are taken, with auth_mode oidc."
  type        = string
  default     = ""

  validation {
    condition     = (var.auth_mode == "oidc") == startswith(var.oidc_issuer, "https://")
    error_message = "oidc_issuer belongs to auth_mode oidc, is needed there, and must start with https://."
  }
}

variable "oidc_namespace_claim" {
  description = "The claim of a token that names the namespace, with auth_mode oidc."
  type        = string
  default     = "namespace"
}

variable "otlp_endpoint" {
  description = "An OpenTelemetry collector that the functions send their counters and latencies to, as a URL that they can reach; empty: none, log-based metrics tell."
  type        = string
  default     = ""

  validation {
    condition     = var.otlp_endpoint == "" || can(regex("^https?://", var.otlp_endpoint))
    error_message = "otlp_endpoint must be a URL that starts with http:// or https://."
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

variable "project" {
  description = "The Google Cloud project's id."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be a project's id, not its name or number."
  }
}

variable "psc" {
  description = "Whether the database is reached over Private Service Connect instead of private services access. Fixed with the first apply."
  type        = bool
  default     = false
}

variable "python_runtime" {
  description = "The functions' runtime."
  type        = string
  default     = "python313"

  validation {
    condition     = contains(["python311", "python312", "python313", "python314"], var.python_runtime)
    error_message = "python_runtime must be python311 or newer."
  }
}

variable "rate_limit_per_minute" {
  description = "Requests a principal may make of one instance in a minute; 0: any number."
  type        = number
  default     = 600

  validation {
    condition     = var.rate_limit_per_minute >= 0
    error_message = "rate_limit_per_minute must not be negative."
  }
}

variable "region" {
  description = "Where everything runs. Fixed with the first apply."
  type        = string
  default     = "europe-west1"

  validation {
    condition     = contains(local.regions, var.region)
    error_message = "region must be one that has both Cloud Run functions and Cloud SQL, and ${var.region} is none that is known here (${join(", ", local.regions)}). A newer one belongs into terraform/modules/mnemosyne/regions.tf."
  }
}

variable "source_dir" {
  description = "Where functions/ and infra/migrations/ are; null: in the repository that this module is part of."
  type        = string
  default     = null
}

variable "sql_edition" {
  description = "ENTERPRISE, or ENTERPRISE_PLUS for larger machines."
  type        = string
  default     = "ENTERPRISE"

  validation {
    condition     = contains(["ENTERPRISE", "ENTERPRISE_PLUS"], var.sql_edition)
    error_message = "sql_edition must be ENTERPRISE or ENTERPRISE_PLUS."
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

variable "subnetwork_cidr" {
  description = "The functions' addresses, where the network is made here: two for each instance, and never 192.168.1.0/24."
  type        = string
  default     = "10.10.0.0/24"

  validation {
    condition     = can(cidrhost(var.subnetwork_cidr, 0)) && try(tonumber(split("/", var.subnetwork_cidr)[1]), 32) <= 26
    error_message = "subnetwork_cidr must be a range of /26 or wider, such as 10.10.0.0/24."
  }
}

variable "vertex_location" {
  description = "Where Vertex AI embeds: a region, eu, us or global; empty: the region. Not every region has every model."
  type        = string
  default     = ""

  validation {
    condition     = var.vertex_location == "" || can(regex("^(global|eu|us|[a-z]+-[a-z]+[0-9]+)$", var.vertex_location))
    error_message = "vertex_location must be a region, eu, us or global."
  }
  validation {
    condition     = var.vertex_location == "" || var.gemini_api_key_secret == ""
    error_message = "vertex_location is Vertex AI's, and with gemini_api_key_secret the Gemini API is used: leave one of them out."
  }
}
