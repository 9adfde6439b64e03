# Sourced by deploy and destroy: which deployment, and where its state is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# What terraform.tfvars says of a variable that is a plain string; else the default.
configured() { # VARIABLE DEFAULT
    local found=""
    [ -f terraform/terraform.tfvars ] && found=$(sed -n "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*\"\([^\"]*\)\".*/\1/p" terraform/terraform.tfvars | head -n 1)
    printf '%s' "${found:-$2}"
}

[ -n "${PROJECT:-}" ] || fail "Say which project: PROJECT=my-project-id"
DEPLOYMENT=${DEPLOYMENT:-$(configured name mnemosyne)}
REGION=${REGION:-$(configured region europe-west1)}
BUCKET="$PROJECT-terraform"
VARIABLES=(-var="project=$PROJECT" -var="name=$DEPLOYMENT" -var="region=$REGION")

terraform_init() {
    terraform -chdir=terraform init -input=false -reconfigure -backend-config="bucket=$BUCKET" -backend-config="prefix=$DEPLOYMENT"
}
