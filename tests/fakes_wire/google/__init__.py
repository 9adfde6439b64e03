"""The Google APIs that an operator's gcloud calls, spoken on loopback."""
