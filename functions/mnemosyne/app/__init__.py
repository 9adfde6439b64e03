"""Entry points and wiring: builds the adapters that the settings name, and each function's app."""
