"""Types and functions for memories, messages, searches, time expressions and access. Pure: they do no I/O."""
