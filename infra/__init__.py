"""What surrounds the deployed code: the schema, the command line, and the whole system on one machine."""
