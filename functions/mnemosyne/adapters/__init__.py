"""The real parts behind the ports; each heavy library is imported by the one file here that needs it."""
