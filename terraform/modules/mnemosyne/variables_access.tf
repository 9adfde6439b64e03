variable "auth_mode" {
  description = "How mcp identifies its callers: api_key; oauth, with which people log in and API keys work too; oidc, with tokens of your own issuer; or iam, with which Cloud Run admits the invokers only."
  type        = string
  default     = "api_key"

  validation {
    condition     = contains(["api_key", "oauth", "oidc", "iam"], var.auth_mode)
    error_message = "auth_mode must be api_key, oauth, oidc or iam."
  }
}

variable "open_by" {
  description = "How everybody can reach the functions that identify their callers themselves: all_users, by a grant to allUsers; or no_invoker_check, if the organization refuses allUsers: then run the commands of `terraform output open_commands` once."
  type        = string
  default     = "all_users"

  validation {
    condition     = contains(["all_users", "no_invoker_check"], var.open_by)
    error_message = "open_by must be all_users or no_invoker_check, got ${var.open_by}."
  }
}

variable "domain" {
  description = "Domain name for mcp, served by a load balancer with Cloud Armor; empty: the run.app address."
  type        = string
  default     = ""

  validation {
    condition     = var.domain == "" || can(regex("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$", var.domain))
    error_message = "domain must be a public domain name without scheme, path and port, such as memory.example.com."
  }
}

variable "domain_only" {
  description = "Whether mcp is reachable at its domain only. Set it when the domain's certificate is ACTIVE."
  type        = bool
  default     = false

  validation {
    condition     = !var.domain_only || var.domain != ""
    error_message = "domain_only needs domain: without a domain mcp would be unreachable."
  }
}

variable "iap" {
  description = "Whether Identity-Aware Proxy admits only the invokers at the load balancer; needs domain."
  type        = bool
  default     = false

  validation {
    condition     = !var.iap || (var.domain != "" && contains(["api_key", "oidc"], var.auth_mode))
    error_message = "iap needs domain, and auth_mode api_key or oidc: the proxy calls mcp with its own identity, and clients that log in with oauth cannot pass the proxy."
  }
}

variable "invokers" {
  description = "Members that may call mcp with auth_mode iam, or pass iap, such as user:ada@example.com."
  type        = list(string)
  default     = []

  validation {
    condition     = !contains(var.invokers, "allUsers") && !contains(var.invokers, "allAuthenticatedUsers")
    error_message = "invokers must not contain allUsers or allAuthenticatedUsers: with auth_mode iam, mcp accepts authenticated calls only."
  }
}

variable "oidc_audience" {
  description = "Audiences, separated by commas. A token must be for one of them, with auth_mode oidc."
  type        = string
  default     = ""

  validation {
    condition     = (var.auth_mode == "oidc") == (var.oidc_audience != "")
    error_message = "oidc_audience must be set with auth_mode oidc, and only then."
  }
}

variable "oidc_issuer" {
  description = "Issuer whose tokens are accepted, with auth_mode oidc."
  type        = string
  default     = ""

  validation {
    condition     = (var.auth_mode == "oidc") == startswith(var.oidc_issuer, "https://")
    error_message = "oidc_issuer must be set with auth_mode oidc, and only then, to a URL that starts with https://."
  }
}

variable "oidc_namespace_claim" {
  description = "Claim of the token that contains the namespace, with auth_mode oidc."
  type        = string
  default     = "namespace"
}

variable "rate_limit_per_minute" {
  description = "Rate limit in units per principal, minute and instance; a plain request costs one unit. 0: no limit."
  type        = number
  default     = 600

  validation {
    condition     = var.rate_limit_per_minute >= 0
    error_message = "rate_limit_per_minute must not be negative."
  }
}
