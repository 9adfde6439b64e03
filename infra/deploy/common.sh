# The scripts deploy, key and destroy source this file, which finds the name, the variables and the state of the
# deployment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The script destroy creates this file, and the file remains if the script is killed. With this file, Terraform could
# destroy resources that hold memories, so the file is removed here.
ALLOW_DESTROY=terraform/modules/mnemosyne/allow_destroy_override.tf
rm -f "$ALLOW_DESTROY"

[ -n "${PROJECT:-}" ] || fail "PROJECT is not set: make deploy PROJECT=my-project-id"
case $PROJECT in *:*) fail "PROJECT must be a project id without the domain of an organization, got $PROJECT. Ids such as example.com:project are not supported." ;; esac

# Terraform reads terraform.tfvars in every case. The file of the environment is passed as an option, so it overrides
# terraform.tfvars.
TFVARS=terraform/terraform.tfvars
if [ -n "${ENVIRONMENT:-}" ]; then
    TFVARS=terraform/environments/$ENVIRONMENT.tfvars
    [ -f "$TFVARS" ] || fail "$TFVARS does not exist: create it, with at least the name of that environment's deployment."
fi

# Prints the value that a tfvars file gives to a variable, if the value is a string, a number or a boolean. Ignores keys
# within a map or list, commented lines, and the byte order mark that editors on Windows may write.
assigned() { # VARIABLE FILE
    LC_ALL=C awk -v name="$1" 'NR == 1 { sub(/^\357\273\277/, "") }
    {
        line = $0; text = ""; top = depth == 0
        while (line != "") {
            size = 1
            if (commented) { if (sub(/^\*\//, "", line)) { commented = 0; continue } }
            else if (line ~ /^(#|\/\/)/) break
            else if (sub(/^\/\*/, "", line)) { commented = 1; continue }
            else {
                if (match(line, /^"([^"\\]|\\.)*"/)) size = RLENGTH
                token = substr(line, 1, size)
                text = text token
                depth += (token ~ /^[[({]$/) - (token ~ /^[])}]$/)
            }
            line = substr(line, size + 1)
        }
        if (top && match(text, "^[[:space:]]*" name "[[:space:]]*=[[:space:]]*")) {
            value = substr(text, RLENGTH + 1)
            if (match(value, /^"[^"]*"/)) print substr(value, 2, RLENGTH - 2)
            else if (match(value, /^[a-z0-9]+/)) print substr(value, 1, RLENGTH)
            exit
        }
    }' "$2"
}

# Prints the value that Terraform uses for a variable, or the default. Does not read files in JSON and options of
# terraform apply. The environment variable TF_VAR_… is read first, and each file that is read later overrides the
# value:
# https://developer.hashicorp.com/terraform/language/values/variables#variable-definition-precedence
configured() { # VARIABLE DEFAULT
    local LC_ALL=C file variable="TF_VAR_$1"
    local value=${!variable:-$2}
    for file in terraform/terraform.tfvars terraform/*.auto.tfvars ${ENVIRONMENT:+"$TFVARS"}; do
        [ ! -f "$file" ] || value=$(assigned "$1" "$file" | grep . || printf '%s' "$value")
    done
    printf '%s' "$value"
}

for file in terraform/*.auto.tfvars terraform/*.tfvars.json; do
    [ ! -f "$file" ] || {
        [ -z "$(assigned name "$file")$(assigned region "$file")" ] &&
            ! grep -qE '(^|[{,])[[:space:]]*"(name|region)"[[:space:]]*:' "$file"
    } || fail "$file sets name or region. The state's place depends on them, and they are read from $TFVARS only: set them there, or pass DEPLOYMENT=… and REGION=…."
done
# Terraform's state is stored under the name of the deployment. If two environments in one project had the same name,
# they would share a state.
[ -z "${ENVIRONMENT:-}" ] || [ -n "${DEPLOYMENT:-}" ] || [ -n "$(assigned name "$TFVARS")" ] ||
    fail "$TFVARS does not set name: add name = \"…\", which no other deployment in $PROJECT has."

DEPLOYMENT=${DEPLOYMENT:-$(configured name mnemosyne)}
REGION=${REGION:-$(configured region europe-west1)}
BUCKET=${STATE_BUCKET:-$PROJECT-terraform}
VARIABLES=(-var="project=$PROJECT" -var="name=$DEPLOYMENT" -var="region=$REGION")
[ -z "${ENVIRONMENT:-}" ] || VARIABLES=(-var-file="environments/$ENVIRONMENT.tfvars" "${VARIABLES[@]}")

# Bucket names are global, so a bucket of this name may belong to a stranger. The stranger could read and change the
# state.
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
