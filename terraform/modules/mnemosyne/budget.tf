resource "google_billing_budget" "this" {
  count           = var.billing_account == "" ? 0 : 1
  billing_account = var.billing_account
  display_name    = "Mnemosyne"

  budget_filter {
    projects = ["projects/${local.project_number}"]
  }

  amount {
    specified_amount {
      units = tostring(floor(var.budget))
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1.0]
    content {
      threshold_percent = threshold_rules.value
    }
  }

  # A budget notifies at most five channels, and only e-mail channels:
  # https://cloud.google.com/billing/docs/how-to/budgets-notification-recipients
  dynamic "all_updates_rule" {
    for_each = length(var.alert_emails) == 0 ? [] : [1]
    content {
      monitoring_notification_channels = slice(local.email_channels, 0, min(5, length(local.email_channels)))
    }
  }

  depends_on = [time_sleep.services]
}
