variable "buckets" {
  description = "Buckets of this project whose new objects are imported, by a name of yours for each: the bucket, the namespace their memories go to, and what the names of those objects begin with. The report of each is written beside it."
  type = map(object({
    bucket    = string
    namespace = string
    prefix    = optional(string, "")
  }))
  default = {}

  validation {
    condition     = alltrue([for name in keys(var.buckets) : can(regex("^[a-z][a-z0-9-]{0,29}$", name)) && !endswith(name, "-dead-letter")])
    error_message = "Each name of buckets must be 1 to 30 lower-case letters, digits and hyphens, beginning with a letter and not ending in -dead-letter."
  }
  validation {
    condition     = alltrue([for one in values(var.buckets) : can(regex("^[A-Za-z0-9][A-Za-z0-9._~:@|-]{0,199}$", one.namespace))])
    error_message = "Each namespace of buckets must be 1 to 200 letters, digits and . _ ~ : @ | -, beginning with a letter or digit."
  }

  validation {
    condition = alltrue(flatten([for name, one in var.buckets : [
      for other, two in var.buckets :
      name == other || one.bucket != two.bucket || !(startswith(one.prefix, two.prefix) || startswith(two.prefix, one.prefix))
    ]]))
    error_message = "Two entries of buckets cover the same objects: each object belongs to one namespace. Give entries on one bucket prefixes that do not begin with one another."
  }
}

variable "outcomes" {
  description = "Whether what becomes of each memory is published, to a topic of its own."
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

  validation {
    condition     = alltrue([for name in keys(var.publishers) : can(regex("^[a-z][a-z0-9-]{0,29}$", name)) && !endswith(name, "-dead-letter")])
    error_message = "Each name of publishers must be 1 to 30 lower-case letters, digits and hyphens, beginning with a letter and not ending in -dead-letter."
  }
  validation {
    condition     = alltrue([for one in values(var.publishers) : can(regex("^[A-Za-z0-9][A-Za-z0-9._~:@|-]{0,199}$", one.namespace))])
    error_message = "Each namespace of publishers must be 1 to 200 letters, digits and . _ ~ : @ | -, beginning with a letter or digit."
  }
  validation {
    condition     = alltrue(flatten([for one in values(var.publishers) : [for member in one.members : !contains(["allUsers", "allAuthenticatedUsers"], member)]]))
    error_message = "publishers must name their accounts: allUsers and allAuthenticatedUsers would let anybody write."
  }
}
