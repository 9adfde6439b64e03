"""Who signed a token."""
