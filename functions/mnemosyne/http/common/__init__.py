"""HTTP code that several functions use: body limits, errors, health, lifespan."""
