variable "notification_channels" {
  description = "Existing notification channels of Cloud Monitoring that alerts are sent to in addition to alert_emails, as projects/P/notificationChannels/ID."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for channel in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[0-9]+$", channel))])
    error_message = "Each of notification_channels must be projects/P/notificationChannels/ID, as `gcloud beta monitoring channels list --format='value(name)'` prints it, got ${join(", ", var.notification_channels)}."
  }
  # https://cloud.google.com/monitoring/quotas
  validation {
    condition     = length(toset(var.alert_emails)) + length(var.notification_channels) <= 16
    error_message = "notification_channels and alert_emails must have at most 16 entries together, because an alert has at most 16 notification channels, got ${length(toset(var.alert_emails)) + length(var.notification_channels)}: use an e-mail address of a group."
  }
}

variable "audit_days" {
  description = "Number of days for which the events of the audit trail are kept."
  type        = number
  default     = 400
  nullable    = false

  validation {
    condition     = var.audit_days >= 1 && var.audit_days <= 36500 && floor(var.audit_days) == var.audit_days
    error_message = "audit_days must be a whole number from 1 to 36500, got ${var.audit_days}."
  }
}

variable "audit_reads" {
  description = "Share of the reading calls that the audit trail records, from 0 (none) to 1 (all). Calls that change something are always recorded."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.audit_reads >= 0 && var.audit_reads <= 1
    error_message = "audit_reads must be from 0 to 1, got ${var.audit_reads}."
  }
}
