"""The `mnemosyne` command, one file a command."""
