"""The fixtures of the official conformance suite, served by this project's HTTP layers."""
