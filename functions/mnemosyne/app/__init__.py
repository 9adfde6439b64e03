"""Build the ASGI apps of the cloud functions, with the adapters that the settings choose."""
