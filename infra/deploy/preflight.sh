# The script deploy sources this file. Its functions check for faults with which an apply would fail late, or without
# a useful error.

# If the state of an existing deployment is missing, Terraform would try to create all resources again. It would fail in
# the middle, because most of their names are in use.
check_state() {
    [ -z "$(terraform -chdir=terraform state list 2>/dev/null || true)" ] || return 0
    gcloud run services describe "$DEPLOYMENT-mcp" --project="$PROJECT" --region="$REGION" --format='value(metadata.name)' --quiet </dev/null >/dev/null 2>&1 || return 0
    fail "$PROJECT has a deployment $DEPLOYMENT, but gs://$BUCKET/$DEPLOYMENT has no state of it. If the state is in another bucket: STATE_BUCKET=another-name make deploy … If the state is lost, restore it: docs/deployment.md (Restore, Terraform's state)."
}

# The six regions in which Google lets every project use Cloud Build:
# https://cloud.google.com/build/docs/locations#restricted_regions_for_some_projects
BUILD_REGIONS="us-central1 us-west2 europe-west1 asia-east1 australia-southeast1 southamerica-east1"

check_build_region() {
    case " $BUILD_REGIONS " in *" $REGION "*) return ;; esac
    say "Note: in some new projects Google restricts Cloud Build to $BUILD_REGIONS. If the build of a function fails with \"no concurrent builds quota available\" or \"cannot run builds in this region\", ask Google's support for builds in $REGION, or set one of these regions before the first apply."
}

# In a region without Cloud Scheduler, an apply would fail at its end. The list of regions is read from Google, because
# it grows each year.
check_scheduler_region() {
    local regions
    regions=$(gcloud scheduler locations list --project="$PROJECT" --format='value(locationId)' 2>/dev/null) && [ -n "$regions" ] || {
        say "The regions of Cloud Scheduler cannot be read. Continuing."
        return 0
    }
    grep -qxF "$REGION" <<<"$regions" ||
        fail "Cloud Scheduler is not available in $REGION, and the deployment needs it. Set one of these regions before the first apply: ${regions//$'\n'/, }."
}

effective_policy() { # CONSTRAINT
    gcloud org-policies describe "$1" --project="$PROJECT" --effective --format=json 2>/dev/null
}

# Prints each organization policy that refuses grants to allUsers (everybody). Fails if the policies cannot be read.
policies_against_everybody() {
    local policy organization name action condition
    policy=$(effective_policy iam.allowedPolicyMemberDomains) || return 1
    ! grep -qE '"allowedValues"|"denyAll": true' <<<"$policy" || echo iam.allowedPolicyMemberDomains
    policy=$(effective_policy iam.managed.allowedPolicyMembers) || return 1
    ! grep -q '"enforce": true' <<<"$policy" || grep -q '"allUsers"' <<<"$policy" || echo iam.managed.allowedPolicyMembers

    organization=$(gcloud projects get-ancestors "$PROJECT" --format='value(id, type)' 2>/dev/null) || return 1
    organization=$(sed -nE 's/^([0-9]+)[[:space:]]+organization$/\1/p' <<<"$organization")
    [ -n "$organization" ] || return 0
    policy=$(gcloud org-policies list-custom-constraints --organization="$organization" --format='value[separator="|"](name.basename(), actionType, condition)' \
        --filter='resourceTypes:iam.googleapis.com/AllowPolicy' 2>/dev/null) || return 1
    while IFS='|' read -r name action condition; do
        [ "$action" = DENY ] && [[ $condition == *allUsers* ]] || continue
        policy=$(effective_policy "$name") || return 1
        ! grep -q '"enforce": true' <<<"$policy" || echo "$name"
    done <<<"$policy"
}

# Fails if an organization policy refuses the last step of an apply. This step grants everybody (allUsers) the right to
# call mcp, because mcp checks the credentials of its callers itself.
check_public_access() {
    [ "$(configured auth_mode api_key)" != iam ] && [ "$(configured open_by all_users)" = all_users ] || return 0
    [ -z "${SKIP_POLICY_CHECK:-}" ] || return 0
    local refusing way="" granted
    granted=$(terraform -chdir=terraform state list 2>/dev/null || true)
    ! grep -qF 'google_cloud_run_v2_service_iam_member.mcp["allUsers"]' <<<"$granted" || return 0
    refusing=$(policies_against_everybody) || {
        say "The organization policies of $PROJECT cannot be read (roles/orgpolicy.policyViewer on the organization allows it), so nobody knows yet whether one refuses allUsers. Continuing."
        return 0
    }
    [ -n "$refusing" ] || return 0
    grep -q '"enforce": true' <<<"$(effective_policy run.managed.requireInvokerIam || true)" ||
        way="
  - open_by = \"no_invoker_check\" in $TFVARS, the way that Google recommends. \`make deploy\` then turns off the invoker check of Cloud Run."
    fail "An organization policy refuses allUsers in $PROJECT: ${refusing//$'\n'/, }. mcp could not be reached with API keys and tokens. Choose one:
  - auth_mode = \"iam\" and invokers in $TFVARS: Cloud Run checks the Google identity of each caller.
  - An exception for $PROJECT, by an administrator of organization policies.$way
If $PROJECT has an exception that this check does not see: SKIP_POLICY_CHECK=1 make deploy …"
}

# Whether a policy allows a value. The value must not be in the policy's list deniedValues and, if the policy has a list
# allowedValues, must be in this list. A policy that cannot be read allows every value.
allows() { # POLICY VALUE
    local policy=${1//[[:space:]]/} listed='":\[[^]]*"(is:)?'$2'"'
    case $policy in *'"denyAll":true'*) return 1 ;; esac
    ! grep -qE "\"deniedValues$listed" <<<"$policy" || return 1
    ! grep -q '"allowedValues":' <<<"$policy" || grep -qE "\"allowedValues$listed" <<<"$policy"
}

ingress_refusals() { # CONSTRAINT VALUE…
    local policy value
    policy=$(effective_policy "$1") || return 0
    for value in "${@:2}"; do allows "$policy" "$value" || echo "$1, which does not allow $value"; done
}

# Fails if one of two organization policies refuses the ingress setting of a function, that is, from where it accepts
# calls. Without this check, the policy would refuse the function in the middle of the apply, after the database was
# created. mcp and auth need other ingress settings than the functions that accept only internal calls, such as ingest.
check_ingress() {
    [ -z "${SKIP_POLICY_CHECK:-}" ] || return 0
    local run=all functions=ALLOW_ALL refusals advice
    if [ "$(configured auth_mode api_key)" = oauth ]; then
        advice="With auth_mode = \"oauth\", the function auth needs this policy to allow all calls, so use another auth_mode or ask for an exception."
    elif [ "$(configured iap false)" = true ] || [ "$(configured domain_only false)" = true ]; then
        run=internal-and-cloud-load-balancing functions=ALLOW_INTERNAL_AND_GCLB
        advice="Ask for an exception that allows calls through a load balancer."
    else
        advice="Set domain with domain_only = true, or with iap = true, so that calls pass a load balancer (docs/deployment.md, Domain), or ask for an exception."
    fi
    refusals=$(ingress_refusals run.allowedIngress internal "$run"; ingress_refusals cloudfunctions.allowedIngressSettings ALLOW_INTERNAL_ONLY "$functions")
    [ -n "$refusals" ] || return 0
    ! grep -qE ' (internal|ALLOW_INTERNAL_ONLY)$' <<<"$refusals" ||
        advice="Ask for an exception that also allows internal calls, because functions such as ingest accept only these."
    fail "An organization policy refuses the ingress setting of a function in $PROJECT: ${refusals//$'\n'/; }. $advice An administrator of organization policies makes exceptions. If $PROJECT has one that this check does not see: SKIP_POLICY_CHECK=1 make deploy …"
}

# With auth_mode = "iam", mcp trusts each token, because Cloud Run has checked it (the invoker check). If an earlier
# deployment had open_by = "no_invoker_check", this check is off, and no apply turns it on again. So this function does.
turn_on_invoker_check() {
    [ "$(configured auth_mode api_key)" = iam ] || return 0
    local service
    service=$(gcloud run services describe "$DEPLOYMENT-mcp" --project="$PROJECT" --region="$REGION" --format=json --quiet </dev/null 2>/dev/null) || return 0
    grep -q '"run.googleapis.com/invoker-iam-disabled": "true"' <<<"$service" || return 0
    say "Turning on Cloud Run's check of the callers of $DEPLOYMENT-mcp before the apply. From now on it refuses API keys, even if you do not apply; to accept them again, run \`make deploy\` with the earlier auth_mode."
    gcloud run services update "$DEPLOYMENT-mcp" --project="$PROJECT" --region="$REGION" --invoker-iam-check --quiet </dev/null >&2 ||
        fail "With auth_mode = \"iam\", Cloud Run must check the callers of $DEPLOYMENT-mcp, and this check cannot be turned on. You need roles/run.admin in $PROJECT."
}
