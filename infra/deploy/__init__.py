"""What `make deploy`, `key` and `destroy` do, and the pages of docs that are made from the source."""
