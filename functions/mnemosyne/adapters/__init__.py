"""Implementations of the ports. For each heavy library, there is one module that imports it."""
