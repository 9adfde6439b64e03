"""HTTP side of the `migrate` function: migrations of the database, and the operations of an operator."""
