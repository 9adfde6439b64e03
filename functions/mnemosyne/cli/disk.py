"""Recognise errors whose cause is a full disk."""

import errno
import re

_MESSAGES = re.compile(r"No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes")
"""Messages of programs about a full disk. PostgreSQL also reports it as an incomplete write."""


def is_disk_full(error: BaseException) -> bool:
    """Whether the cause of an error, or of the program that the error quotes, is a full disk or quota."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or bool(_MESSAGES.search(str(error)))
