# Sourced by deploy and destroy: which deployment, and where its state is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# A destroy that was killed may have left it, and with it what holds memories could be destroyed.
ALLOW_DESTROY=terraform/modules/mnemosyne/allow_destroy_override.tf
rm -f "$ALLOW_DESTROY"

# What terraform.tfvars says of a variable that is a plain string, at the beginning of a line; else the default.
configured() { # VARIABLE DEFAULT
    local found=""
    [ -f terraform/terraform.tfvars ] && found=$(sed -n "s/^$1[[:space:]]*=[[:space:]]*\"\([^\"]*\)\".*/\1/p" terraform/terraform.tfvars | head -n 1)
    printf '%s' "${found:-$2}"
}

[ -n "${PROJECT:-}" ] || fail "Say which project: PROJECT=my-project-id"
for file in terraform/*.auto.tfvars terraform/*.tfvars.json; do
    [ ! -f "$file" ] || ! grep -qE '^[[:space:]]*"?(name|region)"?[[:space:]]*[=:]' "$file" ||
        fail "$file sets name or region, which are read from terraform.tfvars alone, for the state is kept by the name: set them there, or as DEPLOYMENT=… and REGION=…."
done
DEPLOYMENT=${DEPLOYMENT:-${TF_VAR_name:-$(configured name mnemosyne)}}
REGION=${REGION:-${TF_VAR_region:-$(configured region europe-west1)}}
BUCKET="$PROJECT-terraform"
VARIABLES=(-var="project=$PROJECT" -var="name=$DEPLOYMENT" -var="region=$REGION")

terraform_init() {
    terraform -chdir=terraform init -input=false -reconfigure -backend-config="bucket=$BUCKET" -backend-config="prefix=$DEPLOYMENT"
}
