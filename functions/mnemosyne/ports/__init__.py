"""Protocols of the adapters that the use cases need. Adapters implement them without importing them."""
