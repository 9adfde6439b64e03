resource "google_cloudfunctions2_function" "migrate" {
  name        = "${var.name}-migrate"
  location    = var.region
  labels      = local.labels
  description = "Brings the database's schema up to date."

  kms_key_name = var.kms_key

  build_config {
    runtime           = var.python_runtime
    entry_point       = "migrate"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.images.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.functions["migrate"].email
    environment_variables            = local.migrate_settings
    available_memory                 = "512Mi"
    available_cpu                    = "1"
    timeout_seconds                  = 3600
    max_instance_count               = 1
    max_instance_request_concurrency = 1
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_PRIVATE_RANGES_ONLY"

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }

    secret_environment_variables {
      key        = "MNEMOSYNE_DB_PASSWORD"
      project_id = var.project
      secret     = google_secret_manager_secret.owner_password.secret_id
      # By its number, so that a new password is a new revision: a warm instance would keep the old one.
      version = google_secret_manager_secret_version.owner_password.version
    }
  }

  depends_on = [
    google_project_iam_member.functions,
    google_secret_manager_secret_iam_member.owner_password,
    google_secret_manager_secret_version.owner_password,
    google_sql_user.owner,
    time_sleep.build_grants,
  ]
}

# Calls the migration from within the project, as internal ingress asks, and waits for how it ends.
resource "google_workflows_workflow" "migrate" {
  name                = "${var.name}-migrate"
  region              = var.region
  description         = "Runs the migration and fails where it fails."
  service_account     = google_service_account.workflow.id
  deletion_protection = false
  labels              = local.labels

  source_contents = yamlencode({
    main = {
      steps = [
        {
          call_migrate = {
            try = {
              call = "http.post"
              args = {
                url     = google_cloudfunctions2_function.migrate.service_config[0].uri
                timeout = 1800
                auth    = { type = "OIDC", audience = local.urls["migrate"] }
              }
              result = "answer"
            }
            # A grant takes up to some minutes to be known everywhere; the migration itself may be tried as often.
            retry = {
              predicate   = "$${may_pass}"
              max_retries = 10
              backoff     = { initial_delay = 5, max_delay = 60, multiplier = 2 }
            }
          }
        },
        { done = { return = "$${answer.body}" } },
      ]
    }
    may_pass = {
      params = ["e"]
      steps = [
        { judge = { return = "$${\"code\" in e and (e.code == 403 or e.code == 429 or e.code == 503)}" } },
      ]
    }
  })

  depends_on = [google_cloud_run_v2_service_iam_member.migrate, terraform_data.service_agents]
}

# API keys and quotas are managed through these: the function that keeps them is reached from within only.
resource "google_workflows_workflow" "operator" {
  for_each = {
    keys   = "Creates, lists and revokes API keys; of a new one it is told the hash."
    grants = "Lists and ends what people have let their clients do."
    quotas = "Shows and sets what namespaces may hold."
  }

  name                = "${var.name}-${each.key}"
  region              = var.region
  description         = each.value
  service_account     = google_service_account.workflow.id
  deletion_protection = false
  labels              = local.labels

  source_contents = yamlencode({
    main = {
      params = ["asked"]
      steps = [
        {
          call_keys = {
            call = "http.post"
            args = {
              url  = "${google_cloudfunctions2_function.migrate.service_config[0].uri}/${each.key}"
              body = "$${asked}"
              auth = { type = "OIDC", audience = local.urls["migrate"] }
            }
            result = "answer"
          }
        },
        { done = { return = "$${answer.body}" } },
      ]
    }
  })

  depends_on = [google_cloud_run_v2_service_iam_member.migrate, terraform_data.service_agents]
}

moved {
  from = google_workflows_workflow.keys
  to   = google_workflows_workflow.operator["keys"]
}

# Before the functions that serve are touched: where the migration fails, the apply ends here and the versions that
# were serving go on serving.
resource "terraform_data" "migrated" {
  triggers_replace = [data.archive_file.functions.output_sha256, local.migrate_settings]

  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    environment = {
      WORKFLOW = google_workflows_workflow.migrate.name
      PROJECT  = var.project
      REGION   = var.region
    }
    command = <<-SHELL
      set -euo pipefail
      result=$(gcloud workflows run "$WORKFLOW" --project="$PROJECT" --location="$REGION" --format=json)
      echo "$result"
      grep -q '"state": "SUCCEEDED"' <<<"$result" || { echo "The migration failed; the functions stay as they were." >&2; exit 1; }
    SHELL
  }
}
