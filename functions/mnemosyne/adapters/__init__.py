"""Implementations of the ports. Each heavy library is imported by a single module here."""
