variable "notification_channels" {
  description = "Existing notification channels of Cloud Monitoring that alerts are sent to in addition to alert_emails, as projects/P/notificationChannels/ID."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for channel in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[0-9]+$", channel))])
    error_message = "Each of notification_channels must be projects/P/notificationChannels/ID, as `gcloud beta monitoring channels list --format='value(name)'` prints it."
  }
}
