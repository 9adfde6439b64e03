"""What Mnemosyne is about, without I/O: memories, searches, time, chronicles. Pure values and functions."""
