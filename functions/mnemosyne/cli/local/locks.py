"""Lock files of the data directory."""

import fasteners


def acquire_now(lock: fasteners.InterProcessLock) -> bool:
    """Acquire the lock without waiting, and return whether this succeeded.

    If another process holds the lock, close the lock's file, which fasteners leaves open.
    """
    acquired: bool = lock.acquire(blocking=False)
    if not acquired and lock.lockfile is not None:
        lock.lockfile.close()
    return acquired
