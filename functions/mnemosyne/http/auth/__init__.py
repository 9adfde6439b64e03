"""HTTP side of the `auth` function, the authorization server: endpoints for clients and pages for people."""
