"""The formats that memories are read from, as streams: one item per memory, good or not. Pure but for the reading."""
