"""The installed command `mnemosyne`. It imports little, so that Ctrl-C during the other imports prints no traceback."""

import signal


def main() -> None:
    """Import and run the command. During the imports, Ctrl-C ends the process at once.

    If the parent process has set Ctrl-C (SIGINT) to be ignored, it stays ignored.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from mnemosyne.cli import main as command

    signal.signal(signal.SIGINT, handler)
    command.main()
