"""The database schema as package data: numbered migrations, each applied once, and replaceable SQL functions."""
