variable "auth_mode" {
  description = "How callers of mcp show who they are: api_key; oauth, where people log in and keys work beside; oidc, with tokens of an issuer of yours; or iam, where Cloud Run checks them."
  type        = string
  default     = "api_key"

  validation {
    condition     = contains(["api_key", "oauth", "oidc", "iam"], var.auth_mode)
    error_message = "auth_mode must be api_key, oauth, oidc or iam."
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

variable "iap" {
  description = "Whether Identity-Aware Proxy stands before the load balancer and admits the invokers alone; needs a domain."
  type        = bool
  default     = false

  validation {
    condition     = !var.iap || (var.domain != "" && contains(["api_key", "oidc"], var.auth_mode))
    error_message = "iap needs a domain, and api_key or oidc behind it: it calls mcp under an identity of its own, and clients that log in by oauth cannot pass it."
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

variable "oidc_audience" {
  description = "The audiences, comma-separated, of which tokens must be for one, with auth_mode oidc."
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

variable "rate_limit_per_minute" {
  description = "Units a principal may spend on one instance in a minute, a plain request being one; 0: any number."
  type        = number
  default     = 600

  validation {
    condition     = var.rate_limit_per_minute >= 0
    error_message = "rate_limit_per_minute must not be negative."
  }
}
