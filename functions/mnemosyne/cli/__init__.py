"""The `mnemosyne` command, one file a command."""

import os

# gRPC restarts its threads in the child of a fork. While a channel is open, 2 to 26 of 300 children then crash before
# they run their program (grpcio 1.85). The commands fork only to run programs. gRPC reads this when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
