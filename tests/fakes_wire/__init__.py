"""Servers that speak the wire protocols of the cloud services that the product calls."""
