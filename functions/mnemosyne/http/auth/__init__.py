"""HTTP side of the `auth` function: endpoints for clients and pages for people."""
