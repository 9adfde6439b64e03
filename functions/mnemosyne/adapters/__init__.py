"""Implementations of the interfaces in `mnemosyne.ports`.

In the code of the Cloud Run functions, only these modules import the database driver and Google's libraries.
"""
