"""The command `mnemosyne`, with one module for each subcommand."""

import os

# Turn off gRPC's support for forks. With it, gRPC restarts its threads in the child of a fork, and while a channel is
# open, 2 to 26 of 300 children crash before they run their program (grpcio 1.85). The commands do not need it, because
# they fork only to run programs. gRPC reads this variable when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
