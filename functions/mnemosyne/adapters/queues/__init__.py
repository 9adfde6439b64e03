"""Queues of accepted requests: Pub/Sub, and an SQLite file on one machine."""
