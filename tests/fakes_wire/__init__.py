"""Local servers that implement the protocols of the cloud services that the product calls."""
