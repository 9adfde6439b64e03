#!/usr/bin/env bash
# Make an API key in the deployed database, as the schema's owner, through the Cloud SQL Auth Proxy.
# The database has private addresses only: run this where its network is reached.
set -euo pipefail
project=$1
directory=$(cd "$(dirname "$0")/.." && pwd)
instance=$(terraform -chdir="$directory" output -raw database)
topic=$(terraform -chdir="$directory" output -raw topic)
name=${instance##*:}
secret=$(gcloud secrets list --project="$project" --filter='name ~ owner-password$' --format='value(name)' | head -n 1)

cloud-sql-proxy --private-ip --port 5433 --quiet "$instance" &
proxy=$!
trap 'kill $proxy' EXIT
for _ in $(seq 50); do
    if (exec 3<>/dev/tcp/127.0.0.1/5433) 2>/dev/null; then break; fi
    sleep 0.2
done

password=$(gcloud secrets versions access latest --secret="$secret" --project="$project")
MNEMOSYNE_DATABASE_URL="postgresql://mnemosyne-owner:${password}@127.0.0.1:5433/mnemosyne" \
    MNEMOSYNE_TOPIC="$topic" MNEMOSYNE_EMBEDDER=gemini \
    "$(dirname "$PYTHON")/mnemosyne" keys create --name "${NAME:-$(whoami) on $name}"
