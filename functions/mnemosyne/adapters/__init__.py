"""Implementations of the interfaces in `mnemosyne.ports`.

In the Cloud Run functions, no other modules import the database driver or Google's libraries.
"""
