# The workflow checks every function from within the project, because most functions accept only internal calls.
# `make deploy` runs the workflow after an apply. mcp also stores, finds and deletes a canary memory.

locals {
  # The uptime check calls this address of mcp. The address is the domain only if mcp has no other address, because a
  # domain can be configured before its certificate is active.
  canary_host = var.domain_only ? var.domain : trimprefix(local.urls["mcp"], "https://")
  # With auth_mode iam, Cloud Run accepts only tokens for an address of its service.
  canary_audience = var.auth_mode == "iam" ? local.urls["mcp"] : "https://${local.canary_host}"
  uptime_agent    = "service-${local.project_number}@gcp-sa-monitoring-notification.iam.gserviceaccount.com"

  checks = concat(
    [{ name = "mcp", method = "POST", url = "${local.urls["mcp"]}/canary", audience = local.canary_audience }],
    [for name in local.serving_names : {
      name = name, method = "GET", url = "${local.urls[name]}/health?deep=1", audience = local.urls[name]
    } if name != "mcp"],
  )

  # The functions that the workflow may call only with a grant. auth is open to everybody, and so is mcp, except with
  # auth_mode iam.
  checked_by_grant = concat(["ingest", "dead-letter"], local.import_object, var.auth_mode == "iam" ? ["mcp"] : [])
}

resource "google_cloud_run_v2_service_iam_member" "check" {
  for_each = toset(local.checked_by_grant)
  project  = var.project
  name     = google_cloudfunctions2_function.serving[each.key].name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.workflow.member

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.serving[each.key].id]
  }
}

resource "google_workflows_workflow" "check" {
  project             = var.project
  name                = "${var.name}-check"
  region              = var.region
  description         = "Checks every function, and stores, finds and deletes a memory. Fails if a check fails."
  service_account     = google_service_account.workflow.id
  crypto_key_name     = var.kms_key
  deletion_protection = false
  labels              = local.labels

  source_contents = yamlencode({
    main = {
      steps = [
        { begin = { assign = [{ failed = [] }, { results = {} }, { checks = local.checks }] } },
        { each = { "for" = { value = "check", in = "$${checks}", steps = [
          { ask = {
            try = {
              call = "http.request"
              args = {
                method  = "$${check.method}"
                url     = "$${check.url}"
                timeout = 120
                auth    = { type = "OIDC", audience = "$${check.audience}" }
              }
              result = "answer"
            }
            # The call is repeated, because a new grant takes effect only after some minutes.
            retry = {
              predicate   = "$${may_pass}"
              max_retries = 6
              backoff     = { initial_delay = 5, max_delay = 60, multiplier = 2 }
            }
            except = { as = "e", steps = [{ note = { assign = [
              { "failed" = "$${list.concat(failed, check.name)}" },
              { "answer" = { body = "$${default(map.get(e, \"body\"), map.get(e, \"message\"))}" } },
            ] } }] }
          } },
          { keep = { assign = [{ "results[check.name]" = "$${answer.body}" }] } },
        ] } } },
        { judge = { switch = [{
          condition = "$${len(failed) > 0}"
          raise     = "$${\"These functions do not work: \" + json.encode_to_string(failed) + \" \" + json.encode_to_string(results)}"
        }] } },
        { done = { return = "$${results}" } },
      ]
    }
    may_pass = {
      params = ["e"]
      steps = [
        { judge = { return = "$${\"code\" in e and (e.code == 401 or e.code == 403 or e.code == 429)}" } },
      ]
    }
  })

  depends_on = [google_cloud_run_v2_service_iam_member.check, google_project_iam_member.agents, time_sleep.key_grants]
}
