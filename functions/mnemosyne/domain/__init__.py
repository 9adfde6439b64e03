"""Pure values and functions of memories, searches, time expressions and chronicles. No I/O."""
