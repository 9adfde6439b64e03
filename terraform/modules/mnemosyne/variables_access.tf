variable "auth_mode" {
  description = "How mcp identifies its callers. api_key: by API keys. oauth: by tokens that a client gets when a person logs in, or by API keys. oidc: by tokens of your own identity provider. iam: by Google identities; Cloud Run admits only the members in invokers."
  type        = string
  default     = "api_key"
  nullable    = false

  validation {
    condition     = contains(["api_key", "oauth", "oidc", "iam"], var.auth_mode)
    error_message = "auth_mode must be api_key, oauth, oidc or iam, got ${var.auth_mode}."
  }
}

variable "open_by" {
  description = "How everybody gets access to the functions that identify their callers themselves. all_users: by a grant to allUsers. no_invoker_check: by turning off Cloud Run's own check of callers, for organizations that forbid grants to allUsers. The commands of `terraform -chdir=terraform output open_commands` turn the check off; `make deploy` runs them, and without `make deploy` you run them once."
  type        = string
  default     = "all_users"
  nullable    = false

  validation {
    condition     = contains(["all_users", "no_invoker_check"], var.open_by)
    error_message = "open_by must be all_users or no_invoker_check, got ${var.open_by}."
  }
}

variable "domain" {
  description = "Domain name for mcp, served by a load balancer with Cloud Armor; empty: the run.app address."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.domain == "" || can(regex("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+([a-z]{2,}|xn--[a-z0-9-]*[a-z0-9])$", var.domain))
    error_message = "domain must be a public domain name without scheme, path and port, such as memory.example.com, got ${var.domain}. Write a name with letters other than a to z in its ASCII form, which has labels that begin with xn--."
  }
  # https://cloud.google.com/load-balancing/docs/ssl-certificates/google-managed-certs
  validation {
    condition     = length(var.domain) <= 63
    error_message = "domain must have at most 63 characters, because Google makes no certificates for longer names, got ${var.domain} (${length(var.domain)})."
  }
}

variable "domain_only" {
  description = "Whether mcp is reachable only at its domain. Set it to true after the certificate of the domain is ACTIVE."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.domain_only || var.domain != ""
    error_message = "domain_only needs domain: without a domain mcp would be unreachable."
  }
}

variable "iap" {
  description = "Whether Identity-Aware Proxy protects the load balancer and admits only the members in invokers. iap needs the variable domain."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.iap || (var.domain != "" && contains(["api_key", "oidc"], var.auth_mode))
    error_message = "iap needs domain, and auth_mode api_key or oidc: the proxy calls mcp with its own identity, and clients that log in with oauth cannot pass the proxy."
  }
}

variable "iap_clients" {
  description = "Ids of OAuth clients from which Identity-Aware Proxy accepts the ID tokens of people, such as 123456789012-abc.apps.googleusercontent.com. Service accounts need no client."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for client in var.iap_clients : can(regex("^[a-z0-9-]+\\.apps\\.googleusercontent\\.com$", client))])
    error_message = "iap_clients must be ids of OAuth clients, such as 123456789012-abc.apps.googleusercontent.com, got ${join(", ", var.iap_clients)}."
  }
  validation {
    condition     = length(var.iap_clients) == 0 || var.iap
    error_message = "iap_clients must be set only with iap, got ${join(", ", var.iap_clients)}."
  }
}

locals {
  # Members of IAM with their kind: https://cloud.google.com/iam/docs/principal-identifiers. The pattern also matches
  # allUsers and allAuthenticatedUsers, because other validations refuse these two with a more specific error.
  member_pattern = "^((user|group|serviceAccount):[^@\\s:]+@([A-Za-z0-9-]+\\.)+[A-Za-z0-9-]+|domain:([A-Za-z0-9-]+\\.)+[A-Za-z0-9-]+|serviceAccount:\\S+\\.svc\\.id\\.goog\\[\\S+\\]|principal(Set)?://\\S+|allUsers|allAuthenticatedUsers)$"
}

variable "invokers" {
  description = "Members that may call mcp with auth_mode iam, or through Identity-Aware Proxy, such as user:ada@example.com."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = !contains(var.invokers, "allUsers") && !contains(var.invokers, "allAuthenticatedUsers")
    error_message = "invokers must not contain allUsers or allAuthenticatedUsers: with auth_mode iam, mcp accepts authenticated calls only."
  }
  validation {
    condition     = alltrue([for member in var.invokers : can(regex(local.member_pattern, member))])
    error_message = "invokers must be members with their kind (user:, group:, serviceAccount:, domain:, principal:// or principalSet://), such as user:ada@example.com, got ${join(", ", var.invokers)}."
  }
  validation {
    condition     = length(var.invokers) == 0 || var.auth_mode == "iam" || var.iap
    error_message = "invokers must be set only with auth_mode iam or with iap, got ${join(", ", var.invokers)} with auth_mode ${var.auth_mode}, which would admit other callers too."
  }
}

variable "oidc_audience" {
  description = "Audiences, separated by commas. With auth_mode oidc, a token must be for one of these audiences."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.auth_mode == "oidc" ? can(regex("[^,\\s]", var.oidc_audience)) : var.oidc_audience == ""
    error_message = "oidc_audience must be set with auth_mode oidc, and only then, got \"${var.oidc_audience}\" with auth_mode ${var.auth_mode}."
  }
}

variable "oidc_issuer" {
  description = "Issuer of the tokens that mcp accepts with auth_mode oidc."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.auth_mode == "oidc" ? can(regex("^https://[^/\\s]+", var.oidc_issuer)) : var.oidc_issuer == ""
    error_message = "oidc_issuer must be set with auth_mode oidc, and only then, to a URL that starts with https://, got \"${var.oidc_issuer}\" with auth_mode ${var.auth_mode}."
  }
}

variable "oidc_namespace_claim" {
  description = "Claim of the token that contains the namespace, for auth_mode oidc."
  type        = string
  default     = "namespace"
  nullable    = false
}

variable "rate_limit_per_minute" {
  description = "Maximum number of units that each caller (principal) may use per minute on each instance; a simple request costs one unit. 0: no limit."
  type        = number
  default     = 600
  nullable    = false

  validation {
    condition     = var.rate_limit_per_minute >= 0 && floor(var.rate_limit_per_minute) == var.rate_limit_per_minute
    error_message = "rate_limit_per_minute must be a whole number of at least 0, got ${var.rate_limit_per_minute}."
  }
}
