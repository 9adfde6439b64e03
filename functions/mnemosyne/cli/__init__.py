"""The command `mnemosyne`, with one module for each subcommand."""

import os

# Turn off gRPC's support for forks, because this support can crash child processes: gRPC restarts its threads in each
# child. While a channel is open, 2 to 26 of 300 children crash before they run their program (grpcio 1.85). The
# commands fork only to run programs, so the children need no gRPC. gRPC reads this variable when gRPC is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
