"""What the official conformance suite looks for by name, behind our own hosting, edge, access and streams."""
