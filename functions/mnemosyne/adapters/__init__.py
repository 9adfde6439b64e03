"""Implementations of the ports.

In the functions, only these modules import the database driver and Google's libraries.
"""
