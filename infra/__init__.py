"""Development tools: deployment, checks, benchmarks, and a package for Google's Agent Development Kit (ADK)."""
