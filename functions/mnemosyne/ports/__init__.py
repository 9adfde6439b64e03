"""Interfaces of the adapters that have several implementations. They are protocols, so adapters do not import them."""
