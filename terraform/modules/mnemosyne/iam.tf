resource "google_service_account" "functions" {
  for_each     = toset(concat(local.serving_names, ["migrate"]))
  project      = var.project
  account_id   = "${var.name}-${each.key}"
  display_name = "Mnemosyne: runs ${each.key}"
  depends_on   = [time_sleep.services]
}

resource "google_service_account" "push" {
  project      = var.project
  account_id   = "${var.name}-push"
  display_name = "Mnemosyne: identity of Pub/Sub's pushes"
  depends_on   = [time_sleep.services]
}

resource "google_service_account" "build" {
  project      = var.project
  account_id   = "${var.name}-build"
  display_name = "Mnemosyne: builds the functions"
  depends_on   = [time_sleep.services]
}

resource "google_service_account" "workflow" {
  project      = var.project
  account_id   = "${var.name}-workflow"
  display_name = "Mnemosyne: calls migrate for operators"
  depends_on   = [time_sleep.services]
}

locals {
  # Roles of the service accounts in the whole project. Roles on single resources are defined next to these resources.
  project_roles = merge(
    { for name in concat(local.serving_names, ["migrate"]) : "${name} cloudsql.client" => {
      account = name, role = "roles/cloudsql.client"
    } },
    # The owner of the schema logs in with a password. All other database users log in with their service accounts.
    { for name in local.serving_names : "${name} cloudsql.instanceUser" => {
      account = name, role = "roles/cloudsql.instanceUser"
    } },
    var.gemini_api_key_secret != "" ? {} : { for name in local.embedding_functions : "${name} aiplatform.user" => {
      account = name, role = "roles/aiplatform.user"
    } },
    # This is the smallest predefined role that may call the ranking API:
    # https://cloud.google.com/iam/docs/roles-permissions/discoveryengine
    var.reranking_model == "" ? {} : {
      "mcp discoveryengine.viewer" = { account = "mcp", role = "roles/discoveryengine.viewer" }
    },
  )
}

resource "google_project_iam_member" "functions" {
  for_each = local.project_roles
  project  = var.project
  role     = each.value.role
  member   = google_service_account.functions[each.value.account].member

  # With this setting, Terraform removes a grant after it has changed the function that used it. Otherwise a running
  # function would lose the grant before it is changed. If the migration then failed, the function would not be changed,
  # and would stay without the grant.
  lifecycle {
    create_before_destroy = true
  }
}

resource "google_project_iam_member" "build" {
  for_each = toset(["roles/logging.logWriter"])
  project  = var.project
  role     = each.key
  member   = google_service_account.build.member
}

# A build reads two buckets: the bucket with the archive, and the bucket to which Cloud Functions copies the archive.
# The condition excludes all other buckets, for example the bucket with Terraform's state. With kms_key, the name of the
# second bucket ends in a hash of the key: https://cloud.google.com/functions/docs/building
locals {
  copies = "gcf-v2-sources-${local.project_number}-${var.region}"
}

resource "google_project_iam_member" "build_sources" {
  project = var.project
  role    = "roles/storage.objectViewer"
  member  = google_service_account.build.member

  condition {
    title       = "sources"
    description = "Archives of the functions only."
    expression = join(" || ", concat(
      [
        for bucket in [google_storage_bucket.source.name, local.copies] :
        "resource.name == \"projects/_/buckets/${bucket}\" || resource.name.startsWith(\"projects/_/buckets/${bucket}/\")"
      ],
      var.kms_key == null ? [] : ["resource.name.startsWith(\"projects/_/buckets/${local.copies}-\")"],
    ))
  }
}

resource "google_artifact_registry_repository_iam_member" "build" {
  project    = var.project
  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}

# A grant takes effect after one or two minutes. A build that starts earlier fails.
resource "time_sleep" "build_grants" {
  create_duration = "120s"
  triggers = {
    grants = join(" ", concat(
      [google_artifact_registry_repository_iam_member.build.id, google_project_iam_member.build_sources.id],
      google_project_iam_member.build_sources.condition[*].expression, # the id contains only the title of the condition
      [for grant in google_project_iam_member.build : grant.id],
      [for grant in google_project_iam_member.agents : grant.id],
    ))
  }
}

# The service agent of Pub/Sub creates the tokens with which Pub/Sub calls the functions.
resource "google_service_account_iam_member" "push_tokens" {
  service_account_id = google_service_account.push.name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.pubsub_agent
  depends_on         = [google_project_service_identity.agents]
}

resource "google_cloud_run_v2_service_iam_member" "push" {
  for_each = toset([for name in local.serving_names : name if contains(local.pushed_to, name)])
  project  = var.project
  name     = google_cloudfunctions2_function.serving[each.key].name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.push.member

  # If Terraform replaces a function, the grants on the old function are lost, but Terraform's state still lists them.
  # So the grants are replaced together with the function.
  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.serving[each.key].id]
  }
}

resource "google_cloud_run_v2_service_iam_member" "migrate" {
  project  = var.project
  name     = google_cloudfunctions2_function.migrate.name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.workflow.member

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.migrate.id]
  }
}

locals {
  # A function that identifies its callers itself must be open to everybody in Cloud Run. If the organization refuses
  # grants to allUsers (everybody), the operator turns off Cloud Run's check of callers (the invoker check) instead.
  # Terraform's Google provider cannot turn this check off for a function.
  everybody = var.open_by == "all_users" ? ["allUsers"] : []
}

resource "google_cloud_run_v2_service_iam_member" "mcp" {
  for_each = toset(var.auth_mode == "iam" ? var.invokers : local.everybody)
  project  = var.project
  name     = google_cloudfunctions2_function.serving["mcp"].name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.key

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.serving["mcp"].id]
  }
}

# With auth_mode iam, mcp trusts each token, because Cloud Run has checked it. So this data source makes an apply fail
# if the check is off. It is off if an earlier deployment ran the commands of the output open_commands, and no later
# apply turns it on again.
data "google_cloud_run_v2_service" "mcp" {
  count      = var.auth_mode == "iam" ? 1 : 0
  project    = var.project
  name       = google_cloudfunctions2_function.serving["mcp"].name
  location   = var.region
  depends_on = [google_cloudfunctions2_function.serving]

  lifecycle {
    postcondition {
      condition     = self.invoker_iam_disabled != true
      error_message = "Cloud Run does not check the callers of ${var.name}-mcp, so with auth_mode iam anybody could call it with a forged token. Turn on the check, then apply again: gcloud run services update ${var.name}-mcp --project=${var.project} --region=${var.region} --invoker-iam-check"
    }
  }
}

# Browsers and clients call auth: browsers open its pages, and clients fetch tokens, keys and metadata.
resource "google_cloud_run_v2_service_iam_member" "auth" {
  for_each = toset(length(local.auth) == 0 ? [] : local.everybody)
  project  = var.project
  name     = google_cloudfunctions2_function.serving["auth"].name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.key

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.serving["auth"].id]
  }
}
