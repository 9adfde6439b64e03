# Each is the module's, which checks it; a test holds the two lists together.

variable "alert_emails" {
  description = "Addresses that alerts are sent to."
  type        = list(string)
  default     = []
}

variable "auth_mode" {
  description = "How callers of mcp show who they are: api_key; oauth, where people log in and keys work beside; oidc, with tokens of an issuer of yours; or iam, where Cloud Run checks them."
  type        = string
  default     = "api_key"
}

variable "availability_type" {
  description = "ZONAL, or REGIONAL for a standby in another zone at twice the price."
  type        = string
  default     = "ZONAL"
}

variable "billing_account" {
  description = "The billing account to keep a budget on; empty: none is kept."
  type        = string
  default     = ""
}

variable "buckets" {
  description = "Buckets of this project whose new objects are imported, by a name of yours for each: the bucket, the namespace their memories go to, and what the names of those objects begin with. The report of each is written beside it."
  type = map(object({
    bucket    = string
    namespace = string
    prefix    = optional(string, "")
  }))
  default = {}
}

variable "budget" {
  description = "Monthly budget in the billing account's currency; mails are sent at half, nine tenths and all of it."
  type        = number
  default     = 100
}

variable "database_instance_name" {
  description = "The database instance's name, where it is one that was cloned or restored and imported; empty: one is made up."
  type        = string
  default     = ""
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
}

variable "domain" {
  description = "A domain name of your own for mcp, behind a load balancer with Cloud Armor; empty: the run.app address."
  type        = string
  default     = ""
}

variable "domain_only" {
  description = "Whether mcp is reached through its domain alone; set it once the domain's certificate is ACTIVE."
  type        = bool
  default     = false
}

variable "embedding_dimension" {
  description = "Length of the embeddings; fixed when the schema is created, changed by mnemosyne reembed."
  type        = number
  default     = 768
}

variable "embedding_model" {
  description = "The Gemini model that turns text into embeddings."
  type        = string
  default     = "gemini-embedding-001"
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
}

variable "iap" {
  description = "Whether Identity-Aware Proxy stands before the load balancer and admits the invokers alone; needs a domain."
  type        = bool
  default     = false
}

variable "invokers" {
  description = "Members who may call mcp with auth_mode iam, or pass iap, such as user:ada@example.com."
  type        = list(string)
  default     = []
}

variable "kms_key" {
  description = "A Cloud KMS key that encrypts database, topics, secret, sources, images and functions, as projects/P/locations/L/keyRings/R/cryptoKeys/K; null: Google's own. Fixed with the first apply."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels on everything that can have some, beside app and deployment."
  type        = map(string)
  default     = {}
}

variable "max_connections" {
  description = "Connections the database takes; all instances' pools together must fit."
  type        = number
  default     = 100
}

variable "max_delivery_attempts" {
  description = "How often a message is tried before it becomes a dead letter."
  type        = number
  default     = 20
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
}

variable "mcp_min_instances" {
  description = "Instances of mcp kept warm; 0 costs nothing at idle and a second at the first call."
  type        = number
  default     = 0
}

variable "name" {
  description = "What every resource's name begins with. Fixed with the first apply."
  type        = string
  default     = "mnemosyne"
}

variable "network" {
  description = "A network that is there, and its subnetwork in the region, by their whole ids (projects/P/global/networks/N, projects/P/regions/R/subnetworks/S), also of a Shared VPC's host project; null: one is made. Without psc it must have private services access. Fixed with the first apply."
  type = object({
    network    = string
    subnetwork = string
  })
  default = null
}

variable "notification_channels" {
  description = "Existing notification channels of Cloud Monitoring that alerts are sent to in addition to alert_emails, as projects/P/notificationChannels/ID."
  type        = list(string)
  default     = []
}

variable "oauth_client_id" {
  description = "Who the auth function is at oauth_upstream_issuer, with auth_mode oauth: a web application's client id, registered with the redirect URI of `terraform output oauth_callback`."
  type        = string
  default     = ""
}

variable "oauth_client_secret" {
  description = "And by which secret. It is in no plan and no state: give it by TF_VAR_oauth_client_secret to the run that begins with auth_mode oauth or raises oauth_client_secret_version, and to no other."
  type        = string
  default     = null
  sensitive   = true
  ephemeral   = true
}

variable "oauth_client_secret_version" {
  description = "Raise it to have a new oauth_client_secret taken."
  type        = number
  default     = 1
}

variable "oauth_people" {
  description = "Who may log in with auth_mode oauth: the first rule that fits holds. `who` is an address, @domain, claim:value or *; without a namespace each person has one of their own; scopes are some of read, write and operate (redrive): without them the first two."
  type = list(object({
    who       = string
    namespace = optional(string)
    scopes    = optional(list(string))
  }))
  default = []
}

variable "oauth_upstream_issuer" {
  description = "Where people log in, with auth_mode oauth: any OpenID provider, by its issuer's URL."
  type        = string
  default     = "https://accounts.google.com"
}

variable "oidc_audience" {
  description = "The audiences, comma-separated, of which tokens must be for one, with auth_mode oidc."
  type        = string
  default     = ""
}

variable "oidc_issuer" {
  description = "The issuer whose tokens are taken, with auth_mode oidc."
  type        = string
  default     = ""
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
}

variable "outcomes" {
  description = "Whether what becomes of each memory is published, to a topic of its own."
  type        = bool
  default     = false
}

variable "owner_password_version" {
  description = "Raise it to have a new password for the schema's owner."
  type        = number
  default     = 1
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
}

variable "postgres_version" {
  description = "Cloud SQL's PostgreSQL version."
  type        = string
  default     = "POSTGRES_17"
}

variable "project" {
  description = "The Google Cloud project's id."
  type        = string
}

variable "psc" {
  description = "Whether the database is reached over Private Service Connect instead of private services access. Fixed with the first apply."
  type        = bool
  default     = false
}

variable "publishers" {
  description = "Who may publish memories without an agent, by a name of yours for each: the one namespace that they go to, and the accounts (serviceAccount:…, group:…). Each has a topic of its own."
  type = map(object({
    namespace = string
    members   = list(string)
  }))
  default = {}
}

variable "python_runtime" {
  description = "The functions' runtime."
  type        = string
  default     = "python313"
}

variable "rate_limit_per_minute" {
  description = "Units a principal may spend on one instance in a minute, a plain request being one; 0: any number."
  type        = number
  default     = 600
}

variable "region" {
  description = "Where everything runs. Fixed with the first apply."
  type        = string
  default     = "europe-west1"
}

variable "reranking_model" {
  description = "A model of Vertex AI's ranking API that orders anew what searches find, such as semantic-ranker-fast-004; queries and what they find are then sent to its global endpoint. Empty: none."
  type        = string
  default     = ""
}

variable "sql_edition" {
  description = "ENTERPRISE, or ENTERPRISE_PLUS for larger machines."
  type        = string
  default     = "ENTERPRISE"
}

variable "sql_tier" {
  description = "The database's machine: db-g1-small to begin with, db-custom-2-8192 for a million memories."
  type        = string
  default     = "db-g1-small"
}

variable "subnetwork_cidr" {
  description = "The functions' addresses, where the network is made here: two for each instance, and never 192.168.1.0/24."
  type        = string
  default     = "10.10.0.0/24"
}

variable "vertex_location" {
  description = "Where Vertex AI embeds: a region, eu, us or global; empty: the region. Not every region has every model."
  type        = string
  default     = ""
}
