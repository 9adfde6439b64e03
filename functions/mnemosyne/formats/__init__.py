"""Read memories from streams in several formats: one item per memory, valid or invalid. No I/O except reading."""
