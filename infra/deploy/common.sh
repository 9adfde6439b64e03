# Sourced by deploy, key and destroy: the deployment, its variables and the place of its state.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# A destroy that was killed leaves this file, and with it Terraform would destroy resources that hold memories.
ALLOW_DESTROY=terraform/modules/mnemosyne/allow_destroy_override.tf
rm -f "$ALLOW_DESTROY"

[ -n "${PROJECT:-}" ] || fail "PROJECT is not set: make deploy PROJECT=my-project-id"

# Terraform reads terraform.tfvars itself; the environment's file comes after it and overrides it.
TFVARS=terraform/terraform.tfvars
if [ -n "${ENVIRONMENT:-}" ]; then
    TFVARS=terraform/environments/$ENVIRONMENT.tfvars
    [ -f "$TFVARS" ] || fail "$TFVARS does not exist: create it, with at least the name of that environment's deployment."
fi

# The value of a variable that is a string, a number or a boolean and begins its line; else the default.
configured() { # VARIABLE DEFAULT
    local file value
    for file in "$TFVARS" terraform/terraform.tfvars; do
        [ -f "$file" ] || continue
        value=$(sed -nE "s/^$1[[:space:]]*=[[:space:]]*(\"([^\"]*)\"|([a-z0-9]+)).*/\2\3/p" "$file" | head -n 1)
        [ -z "$value" ] || { printf '%s' "$value"; return; }
    done
    printf '%s' "$2"
}

for file in terraform/*.auto.tfvars terraform/*.tfvars.json; do
    [ ! -f "$file" ] || ! grep -qE '^[[:space:]]*"?(name|region)"?[[:space:]]*[=:]' "$file" ||
        fail "$file sets name or region. The state's place depends on them, and they are read from $TFVARS only: set them there, or pass DEPLOYMENT=… and REGION=…."
done
# In one project, an environment without a name of its own would use the state of another one.
[ -z "${ENVIRONMENT:-}" ] || [ -n "${DEPLOYMENT:-}" ] || grep -qE '^name[[:space:]]*=' "$TFVARS" ||
    fail "$TFVARS does not set name: add name = \"…\", which no other deployment in $PROJECT has."

DEPLOYMENT=${DEPLOYMENT:-${TF_VAR_name:-$(configured name mnemosyne)}}
REGION=${REGION:-${TF_VAR_region:-$(configured region europe-west1)}}
BUCKET=${STATE_BUCKET:-$PROJECT-terraform}
VARIABLES=(-var="project=$PROJECT" -var="name=$DEPLOYMENT" -var="region=$REGION")
[ -z "${ENVIRONMENT:-}" ] || VARIABLES=(-var-file="environments/$ENVIRONMENT.tfvars" "${VARIABLES[@]}")

# Bucket names are global: a bucket of this name may belong to a stranger, who could read the state and change it.
check_owner_of_state() {
    local owner number
    owner=$(gcloud storage buckets describe "gs://$BUCKET" --raw --format='value(projectNumber)') ||
        fail "The bucket of Terraform's state, gs://$BUCKET, cannot be read: you need roles/storage.admin in $PROJECT."
    number=$(gcloud projects describe "$PROJECT" --format='value(projectNumber)') ||
        fail "The project $PROJECT cannot be read: check its id, and that you have resourcemanager.projects.get (roles/browser)."
    [ "$owner" = "$number" ] ||
        fail "The bucket gs://$BUCKET belongs to project number $owner, not to $PROJECT ($number). Keep the state in another bucket: STATE_BUCKET=another-name make …"
}

terraform_init() {
    terraform -chdir=terraform init -input=false -reconfigure -backend-config="bucket=$BUCKET" -backend-config="prefix=$DEPLOYMENT"
}
