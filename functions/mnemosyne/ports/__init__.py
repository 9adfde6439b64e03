"""Protocols of the adapters that have several implementations. An adapter need not import its protocol."""
