variable "alert_emails" {
  description = "Addresses that alerts are sent to."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for address in var.alert_emails : strcontains(address, "@")])
    error_message = "Each of alert_emails must be an e-mail address."
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

variable "otlp_endpoint" {
  description = "An OpenTelemetry collector that the functions send their counters and latencies to, as a URL that they can reach; empty: none, log-based metrics tell."
  type        = string
  default     = ""

  validation {
    condition     = var.otlp_endpoint == "" || can(regex("^https?://", var.otlp_endpoint))
    error_message = "otlp_endpoint must be a URL that starts with http:// or https://."
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

variable "python_runtime" {
  description = "The functions' runtime."
  type        = string
  default     = "python313"

  validation {
    condition     = contains(["python311", "python312", "python313", "python314"], var.python_runtime)
    error_message = "python_runtime must be python311 or newer."
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

variable "subnetwork_cidr" {
  description = "The functions' addresses, where the network is made here: two for each instance, and never 192.168.1.0/24."
  type        = string
  default     = "10.10.0.0/24"

  validation {
    condition     = can(cidrhost(var.subnetwork_cidr, 0)) && try(tonumber(split("/", var.subnetwork_cidr)[1]), 32) <= 26
    error_message = "subnetwork_cidr must be a range of /26 or wider, such as 10.10.0.0/24."
  }
}

variable "reranking_model" {
  description = "A model of Vertex AI's ranking API that orders anew what searches find, such as semantic-ranker-fast-004; queries and what they find are then sent to its global endpoint. Empty: none."
  type        = string
  default     = ""

  validation {
    condition     = var.reranking_model == "" || startswith(var.reranking_model, "semantic-ranker-")
    error_message = "reranking_model must be a model of the ranking API, such as semantic-ranker-fast-004: https://cloud.google.com/generative-ai-app-builder/docs/ranking#models."
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
