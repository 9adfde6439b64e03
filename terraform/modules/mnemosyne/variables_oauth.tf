variable "oauth_access_token_seconds" {
  description = "Lifetime of access tokens with auth_mode oauth, in seconds. A short lifetime can interrupt conversations, because some clients do not refresh their token within a conversation. After a grant is revoked, its tokens are refused within 30 seconds, whatever their lifetime."
  type        = number
  default     = 86400
  nullable    = false

  validation {
    condition     = var.oauth_access_token_seconds >= 300 && var.oauth_access_token_seconds <= 604800 && floor(var.oauth_access_token_seconds) == var.oauth_access_token_seconds
    error_message = "oauth_access_token_seconds must be a whole number from 300 to 604800, got ${var.oauth_access_token_seconds}."
  }
}

variable "oauth_client_id" {
  description = "Client id of a web application at oauth_upstream_issuer, for auth_mode oauth. Register the application with the redirect URI of `terraform -chdir=terraform output oauth_callback`."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = (var.auth_mode == "oauth") == (var.oauth_client_id != "")
    error_message = "oauth_client_id must be set with auth_mode oauth, and only then, got \"${var.oauth_client_id}\" with auth_mode ${var.auth_mode}. Create a client at https://console.cloud.google.com/auth/clients."
  }
}

variable "oauth_client_secret" {
  description = "Client secret of the application of oauth_client_id. Neither a plan nor the state contains the secret. Set TF_VAR_oauth_client_secret for the run that turns on auth_mode oauth or raises oauth_client_secret_version."
  type        = string
  default     = null
  sensitive   = true
  ephemeral   = true

  validation {
    condition     = var.oauth_client_secret == null || try(length(var.oauth_client_secret) > 0, false)
    error_message = "oauth_client_secret must not be empty: leave it out to keep the present secret."
  }
}

variable "oauth_client_secret_version" {
  description = "Version of oauth_client_secret. A higher number writes a new secret."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.oauth_client_secret_version >= 1 && floor(var.oauth_client_secret_version) == var.oauth_client_secret_version
    error_message = "oauth_client_secret_version must be a whole number of at least 1, got ${var.oauth_client_secret_version}."
  }
}

variable "oauth_people" {
  description = "Log-in rules for auth_mode oauth. The first rule that matches a person applies. `who` is an e-mail address, @domain, claim:value or *. Without `namespace`, each person has a separate namespace. `scopes` are read, write and operate (redrive and drop dead letters, forget memories, read the audit trail); the default is read and write."
  type = list(object({
    who       = string
    namespace = optional(string)
    scopes    = optional(list(string))
  }))
  default  = []
  nullable = false

  validation {
    condition     = (var.auth_mode == "oauth") == (length(var.oauth_people) > 0)
    error_message = "oauth_people must be set with auth_mode oauth, and only then, got ${length(var.oauth_people)} rules with auth_mode ${var.auth_mode}: without a rule nobody can log in."
  }
  validation {
    condition     = alltrue([for rule in var.oauth_people : rule.who == "*" || can(regex("^([^@\\s]*@[^@\\s]+|[A-Za-z0-9_.-]+:\\S(.*\\S)?)$", rule.who))])
    error_message = "Each who of oauth_people must be an address, @domain, claim:value or *, got ${join(", ", var.oauth_people[*].who)}."
  }
  validation {
    condition     = alltrue([for rule in var.oauth_people : rule.scopes == null || try(contains([1, 2, 3], length(rule.scopes)) && length(setintersection(rule.scopes, ["read", "write", "operate"])) == length(rule.scopes), false)])
    error_message = "scopes of oauth_people must be one or more of read, write and operate, each once, got ${jsonencode([for rule in var.oauth_people : rule.scopes if rule.scopes != null])}: leave scopes out for read and write."
  }
  validation {
    condition     = alltrue([for rule in var.oauth_people : rule.namespace == null || try(length(rule.namespace) <= 200 && can(regex("^(\\S(.*\\S)?)?$", rule.namespace)) && !startswith(rule.namespace, "user:"), false)])
    error_message = "namespace of oauth_people must have at most 200 characters, no spaces at its ends, and not begin with user:, the beginning of the namespaces of single people, got ${jsonencode([for rule in var.oauth_people : rule.namespace if rule.namespace != null])}."
  }
}

variable "oauth_upstream_issuer" {
  description = "Issuer URL of the OpenID provider where people log in, with auth_mode oauth."
  type        = string
  default     = "https://accounts.google.com"
  nullable    = false

  validation {
    condition     = can(regex("^https://[^/\\s]+", var.oauth_upstream_issuer))
    error_message = "oauth_upstream_issuer must be a URL that starts with https://, got ${var.oauth_upstream_issuer}."
  }
}
