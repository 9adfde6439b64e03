variable "alert_emails" {
  description = "Addresses that receive alerts by e-mail."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for address in var.alert_emails : can(regex("^[^@\\s<>:,]+@([A-Za-z0-9-]+\\.)+[A-Za-z0-9-]+$", address))])
    error_message = "Each of alert_emails must be an e-mail address alone, such as ada@example.com, got ${join(", ", var.alert_emails)}."
  }
}

variable "billing_account" {
  description = "Id of the billing account in which a budget for the project is created; empty: no budget."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6})?$", var.billing_account))
    error_message = "billing_account must be an id such as 012345-6789AB-CDEF01, without billingAccounts/, got ${var.billing_account}."
  }
}

variable "budget" {
  description = "Monthly budget of the whole project in the currency of the billing account. E-mails are sent at 50, 90 and 100 percent of the budget."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.budget >= 1
    error_message = "budget must be at least 1, got ${var.budget}."
  }
}

variable "name" {
  description = "Name of the deployment. The names of all resources begin with it. The name cannot be changed after the first apply."
  type        = string
  default     = "mnemosyne"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,14}[a-z0-9]$", var.name))
    error_message = "name must be 3 to 16 lower-case letters, digits and hyphens, and begin with a letter, got ${var.name}."
  }
  validation {
    condition     = !startswith(var.name, "goog") && !strcontains(var.name, "google")
    error_message = "name must not begin with goog or contain google, got ${var.name}: Pub/Sub and Cloud Storage refuse such names."
  }
  # Without this validation, two deployments could need topics of the same name. For example, the deployment `mem` with
  # a publisher `ingest` has the topic mem-publisher-ingest. The main topic of a deployment `mem-publisher` would have
  # this name, too.
  validation {
    condition     = !can(regex("-(publisher|bucket)(-|$)", var.name))
    error_message = "name must not contain the word publisher or bucket after a hyphen, got ${var.name}: the topics of publishers and buckets of another deployment could have the same names."
  }
  # The name of a database user contains the name of its service account. PostgreSQL limits names to 63 characters.
  validation {
    condition     = length("${var.name}-import-object@${var.project}.iam") <= 63
    error_message = "name and project must have at most 44 characters together, got ${length(var.name) + length(var.project)}: the database user ${var.name}-import-object@${var.project}.iam would be longer than the 63 characters of PostgreSQL."
  }
}

variable "project" {
  description = "Id of the Google Cloud project. The project cannot be changed after the first apply."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be a project id, not a name or a number, got ${var.project}${strcontains(var.project, ":") ? ": an id with the domain of an organization is not supported" : ""}."
  }
}

variable "project_number" {
  description = "Number of the project; empty: Terraform looks it up."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]*$", var.project_number))
    error_message = "project_number must contain digits only, got ${var.project_number}."
  }
}

variable "region" {
  description = "Region of all resources. The region cannot be changed after the first apply."
  type        = string
  default     = "europe-west1"
  nullable    = false

  validation {
    condition     = contains(local.regions, var.region)
    error_message = "region must have both Cloud Run functions and Cloud SQL. ${var.region} is not in the list of such regions (${join(", ", local.regions)}); add a newer region to terraform/modules/mnemosyne/regions.tf."
  }
}

variable "labels" {
  description = "Labels for all resources that can have labels. The labels app and deployment are always added."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key, value in var.labels : can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))])
    error_message = "labels must be lower-case letters, digits, hyphens and underscores, at most 63, and a key must begin with a letter, got ${join(", ", [for key, value in var.labels : "${key}=${value}"])}."
  }
  validation {
    condition     = length(setintersection(keys(var.labels), ["app", "deployment"])) == 0
    error_message = "labels must not contain app or deployment, which are always added, got ${join(", ", keys(var.labels))}."
  }
  validation {
    condition     = !anytrue([for key in keys(var.labels) : startswith(key, "goog")])
    error_message = "labels must not begin with goog, the beginning of Google's own labels, got ${join(", ", keys(var.labels))}: choose another key."
  }
  # A resource has at most 64 labels. app, deployment and the provider's goog-terraform-provisioned are added.
  validation {
    condition     = length(var.labels) <= 61
    error_message = "labels must have at most 61 entries, because a resource has at most 64 labels, got ${length(var.labels)}."
  }
}

variable "kms_key" {
  description = "Cloud KMS key that encrypts the database, topics, secrets, archives, images, functions and workflows, as projects/P/locations/L/keyRings/R/cryptoKeys/K; null: Google's own keys. The key cannot be changed after the first apply."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "kms_key must be projects/P/locations/L/keyRings/R/cryptoKeys/K, got ${coalesce(var.kms_key, "nothing")}."
  }
  validation {
    condition     = var.kms_key == null || strcontains(coalesce(var.kms_key, "-"), "/locations/${var.region}/")
    error_message = "kms_key must be a key in ${var.region}, got ${coalesce(var.kms_key, "nothing")}: Cloud SQL accepts only a key in the region of the database."
  }
}

variable "kms_protection_level" {
  description = "Where Cloud KMS keeps the keys that sign receipts and access tokens: SOFTWARE, or HSM (in a hardware security module). A change creates new keys. Access tokens that the old key has signed then become invalid, and clients refresh them."
  type        = string
  default     = "SOFTWARE"
  nullable    = false

  validation {
    condition     = contains(["SOFTWARE", "HSM"], var.kms_protection_level)
    error_message = "kms_protection_level must be SOFTWARE or HSM, got ${var.kms_protection_level}."
  }
}

variable "migrate_by" {
  description = "How an apply runs the migration. job: as a Cloud Run job. gcloud: with gcloud and bash on the machine that runs Terraform."
  type        = string
  default     = "job"
  nullable    = false

  validation {
    condition     = contains(["job", "gcloud"], var.migrate_by)
    error_message = "migrate_by must be job or gcloud, got ${var.migrate_by}."
  }
}

variable "keep_traffic" {
  description = "Functions that you have rolled back to an earlier revision with `gcloud run services update-traffic`, such as [\"mcp\"]. An apply still deploys new revisions of a function in the list, but does not change which revision answers its requests. Remove the function from the list to send its requests to the newest revision."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(setsubtract(var.keep_traffic, ["mcp", "ingest", "dead-letter", "import-object", "auth"])) == 0
    error_message = "keep_traffic must be from mcp, ingest, dead-letter, import-object and auth, got ${join(", ", var.keep_traffic)}."
  }
  validation {
    condition     = !contains(var.keep_traffic, "auth") || var.auth_mode == "oauth"
    error_message = "keep_traffic must not contain auth, which exists only with auth_mode oauth, got ${join(", ", var.keep_traffic)}: remove auth from the list."
  }
  validation {
    condition     = !contains(var.keep_traffic, "import-object") || length(var.buckets) > 0
    error_message = "keep_traffic must not contain import-object, which exists only with buckets, got ${join(", ", var.keep_traffic)}: remove import-object from the list."
  }
}

variable "python_runtime" {
  description = "Python runtime of the functions."
  type        = string
  default     = "python313"
  nullable    = false

  validation {
    condition     = contains(["python311", "python312", "python313", "python314"], var.python_runtime)
    error_message = "python_runtime must be python311, python312, python313 or python314, got ${var.python_runtime}."
  }
}

variable "source_dir" {
  description = "Directory that contains functions/; null: the repository of this module."
  type        = string
  default     = null
}

variable "otlp_endpoint" {
  description = "URL of an OpenTelemetry collector that receives the functions' counters and latencies; empty: none. The functions must be able to reach it."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.otlp_endpoint == "" || can(regex("^https?://[^/\\s]+", var.otlp_endpoint))
    error_message = "otlp_endpoint must be a URL that starts with http:// or https://, got ${var.otlp_endpoint}."
  }
}

variable "max_instances" {
  description = "Maximum number of instances of each function that can have several instances."
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
  nullable = false

  validation {
    condition     = alltrue([for count in values(var.max_instances) : count >= 1 && count <= 100 && floor(count) == count])
    error_message = "max_instances must be whole numbers between 1 and 100, got ${join(", ", [for name, count in var.max_instances : "${name} = ${count}"])}."
  }
}

variable "mcp_min_instances" {
  description = "Number of instances of mcp that always run. With 0, mcp costs nothing while it is idle, and the first call after a pause takes a second longer."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.mcp_min_instances >= 0 && var.mcp_min_instances <= var.max_instances.mcp && floor(var.mcp_min_instances) == var.mcp_min_instances
    error_message = "mcp_min_instances must be a whole number between 0 and max_instances.mcp (${var.max_instances.mcp}), got ${var.mcp_min_instances}."
  }
}
