"""Scripts of `make deploy`, `make key` and `make destroy`, and generators of documents."""
