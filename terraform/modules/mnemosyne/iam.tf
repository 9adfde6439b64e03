resource "google_service_account" "functions" {
  for_each     = toset(concat(["mcp", "ingest", "dead-letter", "migrate"], local.import_object, local.auth))
  account_id   = "${var.name}-${each.key}"
  display_name = "Mnemosyne: runs ${each.key}"
  depends_on   = [time_sleep.services]
}

resource "google_service_account" "push" {
  account_id   = "${var.name}-push"
  display_name = "Mnemosyne: as whom Pub/Sub pushes"
  depends_on   = [time_sleep.services]
}

resource "google_service_account" "build" {
  account_id   = "${var.name}-build"
  display_name = "Mnemosyne: builds the functions"
  depends_on   = [time_sleep.services]
}

resource "google_service_account" "workflow" {
  account_id   = "${var.name}-workflow"
  display_name = "Mnemosyne: runs the migration"
  depends_on   = [time_sleep.services]
}

locals {
  # What each account may do in the project; rights on single resources stand beside those resources.
  project_roles = {
    "mcp cloudsql.client"          = { account = "mcp", role = "roles/cloudsql.client" }
    "mcp cloudsql.instanceUser"    = { account = "mcp", role = "roles/cloudsql.instanceUser" }
    "ingest cloudsql.client"       = { account = "ingest", role = "roles/cloudsql.client" }
    "ingest cloudsql.instanceUser" = { account = "ingest", role = "roles/cloudsql.instanceUser" }
    "dead-letter cloudsql.client"  = { account = "dead-letter", role = "roles/cloudsql.client" }
    "dead-letter instanceUser"     = { account = "dead-letter", role = "roles/cloudsql.instanceUser" }
    "migrate cloudsql.client"      = { account = "migrate", role = "roles/cloudsql.client" }
  }
  import_object_roles = length(local.import_object) == 0 ? {} : {
    "import-object cloudsql.client"       = { account = "import-object", role = "roles/cloudsql.client" }
    "import-object cloudsql.instanceUser" = { account = "import-object", role = "roles/cloudsql.instanceUser" }
  }
  auth_roles = length(local.auth) == 0 ? {} : {
    "auth cloudsql.client"       = { account = "auth", role = "roles/cloudsql.client" }
    "auth cloudsql.instanceUser" = { account = "auth", role = "roles/cloudsql.instanceUser" }
  }
  vertex_roles = var.gemini_api_key_secret != "" ? {} : {
    "mcp aiplatform.user"    = { account = "mcp", role = "roles/aiplatform.user" }
    "ingest aiplatform.user" = { account = "ingest", role = "roles/aiplatform.user" }
  }
  # The least of the predefined roles that may rank: https://cloud.google.com/iam/docs/roles-permissions/discoveryengine
  reranking_roles = var.reranking_model == "" ? {} : {
    "mcp discoveryengine.viewer" = { account = "mcp", role = "roles/discoveryengine.viewer" }
  }
}

resource "google_project_iam_member" "functions" {
  for_each = merge(local.project_roles, local.vertex_roles, local.reranking_roles, local.import_object_roles, local.auth_roles)
  project  = var.project
  role     = each.value.role
  member   = google_service_account.functions[each.value.account].member
}

resource "google_project_iam_member" "build" {
  for_each = toset(["roles/logging.logWriter"])
  project  = var.project
  role     = each.key
  member   = google_service_account.build.member
}

# Of all buckets the sources' alone: ours, and the one that Cloud Functions copies them to. The state is in another.
resource "google_project_iam_member" "build_sources" {
  project = var.project
  role    = "roles/storage.objectViewer"
  member  = google_service_account.build.member

  condition {
    title       = "sources"
    description = "What is built, and nothing else."
    expression = join(" || ", [
      for bucket in [google_storage_bucket.source.name, "gcf-v2-sources-${data.google_project.this.number}-${var.region}"] :
      "resource.name.startsWith(\"projects/_/buckets/${bucket}\")"
    ])
  }
}

resource "google_artifact_registry_repository_iam_member" "build" {
  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}

# A grant is known everywhere after a minute or two, and a build that comes sooner fails.
resource "time_sleep" "build_grants" {
  create_duration = "120s"
  triggers = {
    grants = join(" ", concat(
      [google_artifact_registry_repository_iam_member.build.id, google_project_iam_member.build_sources.id],
      [for grant in google_project_iam_member.build : grant.id],
    ))
  }
}

# Pub/Sub makes the tokens that it pushes with.
resource "google_service_account_iam_member" "push_tokens" {
  service_account_id = google_service_account.push.name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.pubsub_agent
  depends_on         = [terraform_data.service_agents]
}

resource "google_cloud_run_v2_service_iam_member" "push" {
  for_each = {
    ingest      = google_cloudfunctions2_function.ingest.name
    dead_letter = google_cloudfunctions2_function.dead_letter.name
  }
  name     = each.value
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.push.member

  # A function that is made anew has lost them, and only the state still knows of them.
  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.ingest.id, google_cloudfunctions2_function.dead_letter.id]
  }
}

resource "google_cloud_run_v2_service_iam_member" "migrate" {
  name     = google_cloudfunctions2_function.migrate.name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.workflow.member

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.migrate.id]
  }
}

# With keys and tokens the function itself asks who calls; with iam Cloud Run does, and lets no one else in.
resource "google_cloud_run_v2_service_iam_member" "mcp" {
  for_each = toset(var.auth_mode == "iam" ? var.invokers : ["allUsers"])
  name     = google_cloudfunctions2_function.mcp.name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.key

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.mcp.id]
  }
}
