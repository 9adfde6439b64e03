"""Interfaces of adapters with several implementations, as protocols: adapters implement them without importing them."""
