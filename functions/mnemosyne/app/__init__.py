"""Build the apps of the functions, with the adapters that the settings choose."""
