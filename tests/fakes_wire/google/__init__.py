"""Fakes of the Google APIs that an operator's gcloud calls."""
