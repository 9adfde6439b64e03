"""Where accepted requests wait: Pub/Sub, and a directory on one machine."""
