"""HTTP endpoints: parse requests, enforce limits, and map errors to statuses."""
