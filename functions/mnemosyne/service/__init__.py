"""The use cases: plain synchronous functions that take values and adapters."""
