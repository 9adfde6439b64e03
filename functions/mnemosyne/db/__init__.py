"""The schema as package data: numbered migrations, and functions that can be replaced."""
