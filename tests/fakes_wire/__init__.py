"""Servers that speak the wire protocols of what the product calls in the cloud."""
