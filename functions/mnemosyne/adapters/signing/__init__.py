"""Signing keys of tokens: files, or Cloud KMS."""
