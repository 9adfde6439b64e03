"""Development tools: deployment, checks, benchmarks, and the package for Google's ADK."""
