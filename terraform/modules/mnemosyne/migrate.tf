# The migration runs in the image of the function `migrate`. By default, an apply runs this image as a Cloud Run job,
# which needs no gcloud. Operators call the function through a workflow.

resource "google_cloudfunctions2_function" "migrate" {
  project      = var.project
  name         = "${var.name}-migrate"
  location     = var.region
  labels       = local.labels
  description  = "Migrates the database and runs the commands of operators."
  kms_key_name = var.kms_key

  build_config {
    runtime               = var.python_runtime
    entry_point           = "migrate"
    service_account       = google_service_account.build.id
    docker_repository     = google_artifact_registry_repository.images.id
    environment_variables = local.build_environment

    # Automatic updates of the base image are the default, and then the image does not contain the base layers. Cloud
    # Run adds these layers for services, but not for jobs
    # (https://cloud.google.com/run/docs/configuring/services/automatic-base-image-updates). So the updates are turned
    # off here.
    on_deploy_update_policy {}

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email = google_service_account.functions["migrate"].email
    environment_variables = local.migrate_settings
    available_memory      = "1Gi"
    available_cpu         = "1"
    timeout_seconds       = 3600
    # An instance has its own encryption key, and stores the answers of operations: a long answer is sent in parts, and
    # a repeated request gets the stored answer (functions/mnemosyne/http/admin/sealed.py). A second instance would have
    # neither the key nor the answers. The instance runs one operation at a time, and the scheduled jobs in addition.
    # Further requests wait, or get 429.
    max_instance_count               = 1
    max_instance_request_concurrency = 8
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    direct_vpc_egress                = "VPC_EGRESS_${var.vpc_egress}"

    direct_vpc_network_interface {
      network    = local.function_network
      subnetwork = local.function_subnetwork
    }

    dynamic "secret_environment_variables" {
      for_each = local.migrate_secrets
      content {
        key        = secret_environment_variables.value.key
        project_id = var.project
        secret     = secret_environment_variables.value.secret
        version    = secret_environment_variables.value.version
      }
    }
  }

  depends_on = [
    google_project_iam_member.functions,
    google_secret_manager_secret_iam_member.gemini_api_key,
    google_secret_manager_secret_iam_member.owner_password,
    google_sql_user.owner,
    time_sleep.build_grants,
  ]
}

locals {
  # The setting contains the number of the version, so that a new password creates a new revision. Otherwise running
  # instances would keep the old password.
  migrate_secrets = concat(local.gemini_api_key, [{
    key     = "MNEMOSYNE_DB_PASSWORD"
    secret  = google_secret_manager_secret.owner_password.secret_id
    version = google_secret_manager_secret_version.owner_password.version
  }])
  by_job = var.migrate_by == "job" ? 1 : 0
}

# The migration runs again if one of these values changes.
resource "terraform_data" "migration" {
  input = sha256(jsonencode([
    data.archive_file.functions.output_sha256, local.migrate_settings, local.migrate_secrets, var.python_runtime,
    local.labels, var.vpc_egress, var.kms_key,
  ]))
}

data "google_cloud_run_v2_service" "migrate" {
  count    = local.by_job
  project  = var.project
  name     = google_cloudfunctions2_function.migrate.name
  location = var.region

  # Terraform reads this data source after a change of the function, when the service already has the new image.
  depends_on = [google_cloudfunctions2_function.migrate]
}

# When Terraform creates this job, Cloud Run executes it once, and Terraform waits for the end of the execution. If the
# execution fails, Terraform marks the job as tainted, and the next apply creates and executes the job again. So for
# each migration, Terraform creates the job again. An update of the job would not be enough, because the provider
# records a failed update as done.
resource "google_cloud_run_v2_job" "migrate" {
  count               = local.by_job
  project             = var.project
  name                = "${var.name}-migrate"
  location            = var.region
  labels              = local.labels
  deletion_protection = false

  # The time makes the name of the execution unique, even after a failed apply. The time and the name of the job have
  # less than 63 characters together.
  run_execution_token = formatdate("YYYYMMDDhhmmss", plantimestamp())

  template {
    template {
      service_account = google_service_account.functions["migrate"].email
      encryption_key  = var.kms_key
      max_retries     = 0
      timeout         = "3600s"

      containers {
        image = data.google_cloud_run_v2_service.migrate[0].template[0].containers[0].image

        # The launcher of Cloud Native Buildpacks sets the environment and the directory, and then runs the command
        # after "--": https://github.com/buildpacks/spec/blob/main/platform.md#launcher
        command = ["/cnb/lifecycle/launcher"]
        args    = ["--", "python3", "-m", "mnemosyne.app.migrate"]

        resources {
          limits = { cpu = "1", memory = "1Gi" }
        }

        dynamic "env" {
          for_each = local.migrate_settings
          content {
            name  = env.key
            value = env.value
          }
        }
        dynamic "env" {
          for_each = { for secret in local.migrate_secrets : secret.key => secret }
          content {
            name = env.key
            value_source {
              secret_key_ref {
                secret  = env.value.secret
                version = env.value.version
              }
            }
          }
        }
      }

      vpc_access {
        egress = var.vpc_egress
        network_interfaces {
          network    = local.function_network
          subnetwork = local.function_subnetwork
        }
      }
    }
  }

  timeouts {
    create = "70m"
  }

  lifecycle {
    # Changes of these two values alone must not change the job. The token differs in each plan, and the function can
    # get a new image although no new migration is needed.
    ignore_changes       = [run_execution_token, template[0].template[0].containers[0].image]
    replace_triggered_by = [terraform_data.migration]
  }
}

# This workflow calls the function migrate from within the project, because the function accepts only internal calls.
resource "google_workflows_workflow" "operate" {
  project             = var.project
  name                = "${var.name}-operate"
  region              = var.region
  description         = "Sends a POST request with body to a path of the migrate function. The path \"\" migrates; the path operations runs an operator's command, encrypted."
  service_account     = google_service_account.workflow.id
  crypto_key_name     = var.kms_key
  deletion_protection = false
  labels              = local.labels

  source_contents = yamlencode({
    main = {
      params = ["request"]
      steps = [
        {
          call_migrate = {
            try = {
              call = "http.post"
              args = {
                # The slash after the host is constant. Without it, a path in the request could change the host.
                url     = "$${\"${local.urls["migrate"]}/\" + request.path}"
                body    = "$${request.body}"
                timeout = 1800
                auth    = { type = "OIDC", audience = local.urls["migrate"] }
              }
              result = "answer"
            }
            # A new grant takes effect only after some minutes. Until then Cloud Run answers 401 or 403 and does not
            # call the function. So the call is repeated. It is also safe to run a migration twice.
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
        { judge = { return = "$${\"code\" in e and (e.code == 401 or e.code == 403 or e.code == 429 or e.code == 503)}" } },
      ]
    }
  })

  depends_on = [google_cloud_run_v2_service_iam_member.migrate, google_project_iam_member.agents, time_sleep.key_grants]
}

# This resource runs the migration if migrate_by is "gcloud". If the provisioner fails, the resource is tainted, and
# the next apply runs the provisioner again.
resource "terraform_data" "migrated" {
  count            = 1 - local.by_job
  triggers_replace = [terraform_data.migration.output]

  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    environment = {
      WORKFLOW = google_workflows_workflow.operate.name
      PROJECT  = var.project
      REGION   = var.region
    }
    command = <<-SHELL
      set -euo pipefail
      result=$(gcloud workflows run "$WORKFLOW" --project="$PROJECT" --location="$REGION" --data='{"path": "", "body": {}}' --format=json)
      echo "$result"
      grep -q '"state": "SUCCEEDED"' <<<"$result" || { echo "The migration failed; the functions were not changed." >&2; exit 1; }
    SHELL
  }

  depends_on = [google_cloudfunctions2_function.migrate]
}
