"""The fixtures of the official conformance suite, behind our hosting, edge, access and streams."""
