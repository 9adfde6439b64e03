variable "buckets" {
  description = "Buckets of this project whose new objects are imported. The key is a name of your choice. prefix limits the import, and the rights to read and write, to objects whose name begins with prefix; with a prefix, the bucket must have uniform bucket-level access. The report of an import is written next to the object."
  type = map(object({
    bucket    = string
    namespace = string
    prefix    = optional(string, "")
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.buckets) : can(regex("^[a-z][a-z0-9-]{0,29}$", name)) && !endswith(name, "-dead-letter")])
    error_message = "Each name of buckets must be 1 to 30 lower-case letters, digits and hyphens, begin with a letter and not end in -dead-letter, got ${join(", ", keys(var.buckets))}."
  }
  validation {
    condition     = alltrue([for entry in values(var.buckets) : can(regex("^[A-Za-z0-9][A-Za-z0-9._~:@|-]{0,199}$", entry.namespace))])
    error_message = "Each namespace of buckets must be 1 to 200 letters, digits and . _ ~ : @ | -, and begin with a letter or digit, got ${join(", ", values(var.buckets)[*].namespace)}."
  }
  validation {
    condition     = alltrue([for entry in values(var.buckets) : can(regex("^[a-z0-9][a-z0-9_-]{0,62}(\\.[a-z0-9_-]{1,63})*$", entry.bucket)) && can(regex("[a-z0-9]$", entry.bucket)) && length(entry.bucket) >= 3 && length(entry.bucket) <= 222])
    error_message = "Each bucket of buckets must be the name of a bucket, without gs://, got ${join(", ", values(var.buckets)[*].bucket)}."
  }

  validation {
    condition = alltrue(flatten([for name, entry in var.buckets : [
      for other, two in var.buckets :
      name == other || entry.bucket != two.bucket || !(startswith(entry.prefix, two.prefix) || startswith(two.prefix, entry.prefix))
    ]]))
    error_message = "Two entries of buckets cover the same objects, but an object belongs to one namespace. Give the entries of one bucket prefixes of which none begins with another, got ${join(", ", [for name, entry in var.buckets : "${name} = ${entry.bucket}/${entry.prefix}"])}."
  }
  # https://cloud.google.com/storage/docs/pubsub-notifications
  validation {
    condition     = alltrue([for one in values(var.buckets) : length([for two in values(var.buckets) : two if two.bucket == one.bucket]) <= 10])
    error_message = "A bucket may have at most 10 entries of buckets, because Cloud Storage has at most 10 notifications of new objects for a bucket, got ${join(", ", [for bucket in distinct(values(var.buckets)[*].bucket) : "${length([for entry in values(var.buckets) : entry if entry.bucket == bucket])} of ${bucket}"])}."
  }
}

variable "max_delivery_attempts" {
  description = "Number of attempts to deliver a message to the function ingest. A message that could not be stored in any of them goes to the function dead-letter."
  type        = number
  default     = 20
  nullable    = false

  validation {
    condition     = var.max_delivery_attempts >= 5 && var.max_delivery_attempts <= 100 && floor(var.max_delivery_attempts) == var.max_delivery_attempts
    error_message = "max_delivery_attempts must be a whole number between 5 and 100, the limits of Pub/Sub, got ${var.max_delivery_attempts}."
  }
}

variable "message_storage_regions" {
  description = "Regions where Pub/Sub may store messages, such as [\"europe-west1\"]; empty: any region that the organization's policy allows."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(setsubtract(var.message_storage_regions, local.regions)) == 0
    error_message = "message_storage_regions must contain regions, such as europe-west1, got ${join(", ", var.message_storage_regions)}. Add a newer region to terraform/modules/mnemosyne/regions.tf."
  }
}

variable "outcomes" {
  description = "Whether two things are published to a topic: the outcome of each ingest request, and each change of a memory in a namespace whose change feed is on."
  type        = bool
  default     = false
  nullable    = false
}

variable "immutable_sources" {
  description = "Names of sources whose records never change. A record keeps its first stored content, and a request to store another content for the record fails."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for source in var.immutable_sources : trimspace(source) != "" && !strcontains(source, ",")])
    error_message = "immutable_sources must be names without a comma, none of them blank, got ${jsonencode(var.immutable_sources)}."
  }
}

variable "publishers" {
  description = "Topics to which importers publish memories. The memories of a topic are stored in one namespace. The key is a name of your choice. members are the accounts that may publish, such as serviceAccount:… or group:…."
  type = map(object({
    namespace = string
    members   = list(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.publishers) : can(regex("^[a-z][a-z0-9-]{0,29}$", name)) && !endswith(name, "-dead-letter")])
    error_message = "Each name of publishers must be 1 to 30 lower-case letters, digits and hyphens, begin with a letter and not end in -dead-letter, got ${join(", ", keys(var.publishers))}."
  }
  validation {
    condition     = alltrue([for entry in values(var.publishers) : can(regex("^[A-Za-z0-9][A-Za-z0-9._~:@|-]{0,199}$", entry.namespace))])
    error_message = "Each namespace of publishers must be 1 to 200 letters, digits and . _ ~ : @ | -, and begin with a letter or digit, got ${join(", ", values(var.publishers)[*].namespace)}."
  }
  validation {
    condition     = alltrue(flatten([for entry in values(var.publishers) : [for member in entry.members : !contains(["allUsers", "allAuthenticatedUsers"], member)]]))
    error_message = "members of publishers must not contain allUsers or allAuthenticatedUsers: they would let everybody write."
  }
  validation {
    condition     = alltrue([for member in flatten(values(var.publishers)[*].members) : can(regex(local.member_pattern, member))])
    error_message = "members of publishers must be members with their kind (user:, group:, serviceAccount:, domain:, principal:// or principalSet://), such as user:ada@example.com, got ${join(", ", flatten(values(var.publishers)[*].members))}."
  }
}
