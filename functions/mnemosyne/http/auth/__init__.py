"""The `auth` function's HTTP surface: endpoints for clients, pages for people."""
