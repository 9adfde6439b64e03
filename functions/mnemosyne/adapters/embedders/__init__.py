"""What turns text into vectors: one file per provider, chosen by its name."""
