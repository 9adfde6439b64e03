"""Interfaces of the adapters that the use cases need, as protocols: adapters implement them without importing them."""
