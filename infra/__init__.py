"""Development tools: deployment, checks, benchmarks, and what other programs install."""
