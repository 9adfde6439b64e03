"""The `mnemosyne` command, one file a command."""

import os

# gRPC restarts its threads in the child of a fork, and one child in twenty then crashes before it runs its program
# (grpcio 1.85). The commands fork only to run programs. gRPC reads the variable when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
