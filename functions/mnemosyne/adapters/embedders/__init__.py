"""Embedders, one module per provider."""
