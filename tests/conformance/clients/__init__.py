"""Clients and frameworks of the field, each driven through the same steps by a script of its own environment."""
