"""Read memories from streams in several formats.

The result is one item per memory, whether the memory is valid or not. These modules do no I/O except reading the
stream.
"""
