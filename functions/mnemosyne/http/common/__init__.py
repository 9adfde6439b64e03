"""HTTP code that several functions use: limits of bodies, errors, health checks, lifespan and rate limits."""
