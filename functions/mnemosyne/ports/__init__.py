"""What the use cases need from outside, as Protocols. Adapters satisfy them without importing them."""
