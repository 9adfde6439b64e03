"""Token verification and log-in."""
