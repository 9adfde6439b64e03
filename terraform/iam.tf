resource "google_service_account" "functions" {
  for_each     = toset(["mcp", "ingest", "dead-letter", "migrate"])
  account_id   = "${var.name}-${each.key}"
  display_name = "Mnemosyne: runs ${each.key}"
  depends_on   = [google_project_service.this]
}

resource "google_service_account" "push" {
  account_id   = "${var.name}-push"
  display_name = "Mnemosyne: as whom Pub/Sub pushes"
  depends_on   = [google_project_service.this]
}

resource "google_service_account" "build" {
  account_id   = "${var.name}-build"
  display_name = "Mnemosyne: builds the functions"
  depends_on   = [google_project_service.this]
}

resource "google_service_account" "workflow" {
  account_id   = "${var.name}-workflow"
  display_name = "Mnemosyne: runs the migration"
  depends_on   = [google_project_service.this]
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
  vertex_roles = var.gemini_api_key_secret != "" ? {} : {
    "mcp aiplatform.user"    = { account = "mcp", role = "roles/aiplatform.user" }
    "ingest aiplatform.user" = { account = "ingest", role = "roles/aiplatform.user" }
  }
}

resource "google_project_iam_member" "functions" {
  for_each = merge(local.project_roles, local.vertex_roles)
  project  = var.project
  role     = each.value.role
  member   = google_service_account.functions[each.value.account].member
}

resource "google_project_iam_member" "build" {
  for_each = toset(["roles/artifactregistry.writer", "roles/logging.logWriter", "roles/storage.objectViewer"])
  project  = var.project
  role     = each.key
  member   = google_service_account.build.member
}

# Pub/Sub makes the tokens that it pushes with.
resource "google_service_account_iam_member" "push_tokens" {
  service_account_id = google_service_account.push.name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.pubsub_agent
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
}

resource "google_cloud_run_v2_service_iam_member" "migrate" {
  name     = google_cloudfunctions2_function.migrate.name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.workflow.member
}

# With keys and tokens the function itself asks who calls; with iam Cloud Run does, and lets no one else in.
resource "google_cloud_run_v2_service_iam_member" "mcp" {
  for_each = toset(var.auth_mode == "iam" ? var.invokers : ["allUsers"])
  name     = google_cloudfunctions2_function.mcp.name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.key
}
