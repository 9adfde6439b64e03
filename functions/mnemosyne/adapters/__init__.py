"""Implementations of the ports. Only these modules import the database driver and the clients of Google Cloud."""
