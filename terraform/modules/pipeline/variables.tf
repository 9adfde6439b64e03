variable "billing_account" {
  description = "Billing account of the budget, as in the variables of the deployment; empty: no budget."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6})?$", var.billing_account))
    error_message = "billing_account must be an id such as 012345-6789AB-CDEF01, without billingAccounts/, got ${var.billing_account}."
  }
}

variable "branch" {
  description = "Branch that the pipeline deploys."
  type        = string
  default     = "main"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._/-]*$", var.branch))
    error_message = "branch must be a branch's name, got ${var.branch}."
  }
}

variable "buckets" {
  description = "Names of the buckets from which the deployment imports objects."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for bucket in var.buckets : can(regex("^[a-z0-9][a-z0-9._-]+[a-z0-9]$", bucket))])
    error_message = "buckets must be names of buckets, without gs://, got ${join(", ", var.buckets)}."
  }
}

variable "create_topic" {
  description = "Whether to create the topic cloud-builds, for cloud_build; false if the project has the topic, for example from another pipeline."
  type        = bool
  default     = true
  nullable    = false
}

variable "deployment" {
  description = "Name of the deployment: the value of its variable `name`."
  type        = string
  default     = "mnemosyne"
  nullable    = false

  # The names of the accounts contain the name of the deployment, and the name of an account has at most 30 characters.
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,14}[a-z0-9]$", var.deployment))
    error_message = "deployment must be 3 to 16 lower-case letters, digits and hyphens, beginning with a letter, got ${var.deployment}."
  }
}

variable "features" {
  description = "Parts of the deployment that need additional roles: domain, iap, psc."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(setsubtract(var.features, ["domain", "iap", "psc"])) == 0
    error_message = "features must be some of domain, iap and psc, got ${join(", ", var.features)}."
  }
}

variable "kms_key" {
  description = "Cloud KMS key of the deployment: the value of its variable `kms_key`; null: none."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "kms_key must be projects/P/locations/L/keyRings/R/cryptoKeys/K, got ${coalesce(var.kms_key, "nothing")}."
  }
}

variable "location" {
  description = "Location of the builds, for cloud_build: global or a region, for example because a policy of the organization forbids global. The repository must be connected in this location."
  type        = string
  default     = "global"
  nullable    = false

  validation {
    condition     = can(regex("^(global|[a-z]+-[a-z]+[0-9]+)$", var.location))
    error_message = "location must be global or a region, such as europe-west1, got ${var.location}."
  }
}

variable "project" {
  description = "Id of the Google Cloud project."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be a project id, not a name or a number, got ${var.project}${strcontains(var.project, ":") ? ": an id with the domain of an organization is not supported" : ""}."
  }
}

variable "region" {
  description = "Region of the deployment: the value of its variable `region`."
  type        = string
  default     = "europe-west1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region must be a region, such as europe-west1, got ${var.region}."
  }
  validation {
    condition     = var.kms_key == null || strcontains(coalesce(var.kms_key, "-"), "/locations/${var.region}/")
    error_message = "region must be the region of kms_key, which is ${coalesce(var.kms_key, "nothing")}, got ${var.region}."
  }
}

variable "repository" {
  description = "GitHub repository, as OWNER/REPOSITORY."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$", var.repository))
    error_message = "repository must be OWNER/REPOSITORY, got ${var.repository}."
  }
}

variable "repository_id" {
  description = "Number of the repository at GitHub, for github_actions. null: only the name is checked; a stranger can register the name after you rename or delete the repository."
  type        = string
  default     = null

  validation {
    condition     = var.repository_id == null || can(regex("^[0-9]+$", var.repository_id))
    error_message = "repository_id must be a number, as `gh api repos/OWNER/REPOSITORY --jq .id` prints it, got ${coalesce(var.repository_id, "nothing")}."
  }
}

variable "runner" {
  description = "Where the pipeline runs: cloud_build or github_actions."
  type        = string
  default     = "cloud_build"
  nullable    = false

  validation {
    condition     = contains(["cloud_build", "github_actions"], var.runner)
    error_message = "runner must be cloud_build or github_actions, got ${var.runner}."
  }
}

variable "state_bucket" {
  description = "Bucket of Terraform's state, with uniform bucket-level access; null: PROJECT-terraform."
  type        = string
  default     = null

  validation {
    condition     = var.state_bucket == null || can(regex("^[a-z0-9][a-z0-9._-]+[a-z0-9]$", var.state_bucket))
    error_message = "state_bucket must be the name of a bucket, without gs://, got ${coalesce(var.state_bucket, "nothing")}."
  }
}
