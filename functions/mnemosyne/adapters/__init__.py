"""Implementations of the interfaces in `mnemosyne.ports`.

In the code of the Cloud Run functions, only the modules of this package import the database driver and Google's
libraries.
"""
