"""HTTP side of the `migrate` function, which migrates the database and runs operations for the operator."""
