"""Scripts that `make deploy`, `make key` and `make destroy` run, and scripts that generate two pages of `docs/`."""
