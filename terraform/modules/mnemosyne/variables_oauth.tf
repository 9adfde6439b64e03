variable "oauth_client_id" {
  description = "Who the auth function is at oauth_upstream_issuer, with auth_mode oauth: a web application's client id, registered with the redirect URI of `terraform output oauth_callback`."
  type        = string
  default     = ""

  validation {
    condition     = (var.auth_mode == "oauth") == (var.oauth_client_id != "")
    error_message = "oauth_client_id belongs to auth_mode oauth, and is needed there: https://console.cloud.google.com/auth/clients makes one."
  }
}

variable "oauth_client_secret" {
  description = "And by which secret. It is in no plan and no state: give it by TF_VAR_oauth_client_secret to the run that begins with auth_mode oauth or raises oauth_client_secret_version, and to no other."
  type        = string
  default     = null
  sensitive   = true
  ephemeral   = true

  validation {
    condition     = var.oauth_client_secret == null || try(length(var.oauth_client_secret) > 0, false)
    error_message = "oauth_client_secret must not be empty: leave it out where it stays as it is."
  }
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

  validation {
    condition     = (var.auth_mode == "oauth") == (length(var.oauth_people) > 0)
    error_message = "oauth_people belongs to auth_mode oauth, and is needed there: nobody could log in."
  }
  validation {
    condition     = alltrue([for one in var.oauth_people : one.who == "*" || can(regex("^([^@\\s]*@[^@\\s]+|[A-Za-z0-9_.-]+:\\S+)$", one.who))])
    error_message = "who must be an address, @domain, claim:value or *."
  }
  validation {
    condition     = alltrue([for one in var.oauth_people : one.scopes == null || length(setsubtract(coalesce(one.scopes, []), ["read", "write", "operate"])) == 0])
    error_message = "scopes must be some of read, write and operate."
  }
}

variable "oauth_upstream_issuer" {
  description = "Where people log in, with auth_mode oauth: any OpenID provider, by its issuer's URL."
  type        = string
  default     = "https://accounts.google.com"

  validation {
    condition     = startswith(var.oauth_upstream_issuer, "https://")
    error_message = "oauth_upstream_issuer must start with https://."
  }
}
