"""Child processes of a command that uses gRPC, like the Pub/Sub emulator of `mnemosyne dev`."""

import subprocess
import sys

FORKS = 200
PROGRAM = f"""
import mnemosyne.cli  # first, as in the command
import os, subprocess, sys
from concurrent import futures
import grpc

server = grpc.server(futures.ThreadPoolExecutor(4))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
grpc.channel_ready_future(grpc.insecure_channel(f"127.0.0.1:{{port}}")).result(30)
ended = [subprocess.run(["true"], preexec_fn=lambda: None).returncode for _ in range({FORKS})]
print(sum(code != 0 for code in ended), flush=True)
os._exit(0)
"""


def test_a_child_process_started_during_grpc_calls_does_not_crash() -> None:
    completed = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert completed.stdout == "0\n", completed.stderr[-2000:]
