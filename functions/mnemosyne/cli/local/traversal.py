"""Grant only PostgreSQL's system user the right to traverse directories that are closed to others."""

import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from mnemosyne.errors import Misconfigured

_ACCESS = "system.posix_acl_access"
_VERSION = 2
_OWNER, _USER, _GROUP, _NAMED_GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NOBODY = 0xFFFFFFFF
_PASS = 0o1


def grant_traversal(user: int, path: Path) -> None:
    """Grant a user the right to traverse every directory above the path, by an access control list entry.

    Directories that everybody may traverse are not changed. The mode of the other directories and the rights of other
    users do not change. Raises Misconfigured if the file system has no access control lists. The format of these lists
    is in acl(5) and linux/posix_acl_xattr.h.
    """
    for directory in path.absolute().parents:
        mode = directory.stat().st_mode
        if mode & stat.S_IXOTH:
            continue
        entries = dict(_entries(directory, mode))
        # The mask limits the rights of named users and of all groups, and must permit the new entry. So first apply the
        # old mask to the other entries, because they would otherwise gain rights from the new mask.
        mask = entries.get((_MASK, _NOBODY), 0o7)
        masked_tags = (_USER, _GROUP, _NAMED_GROUP)
        entries |= {entry: permissions & mask for entry, permissions in entries.items() if entry[0] in masked_tags}
        entries[_USER, user] = entries.get((_USER, user), 0) | _PASS
        entries[_MASK, _NOBODY] = 0
        for (tag, _), permissions in list(entries.items()):
            entries[_MASK, _NOBODY] |= permissions if tag in masked_tags else 0
        packed = b"".join(
            struct.pack("<HHI", tag, permissions, qualifier)
            for (tag, qualifier), permissions in sorted(entries.items())
        )
        try:
            os.setxattr(directory, _ACCESS, struct.pack("<I", _VERSION) + packed)
        except OSError as exc:
            raise Misconfigured(
                f"PostgreSQL runs as the user pgserver, who may not enter {directory} "
                f"({(exc.strerror or str(exc)).lower()})",
                next_step="choose a --data-dir under a path that all users may enter, such as /var/lib/mnemosyne",
            ) from exc


def _entries(directory: Path, mode: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the entries of the directory's access control list.

    If the directory has no list, yield the entries that correspond to its mode.
    """
    try:
        acl = os.getxattr(directory, _ACCESS)[4:]
    except OSError:
        yield (_OWNER, _NOBODY), mode >> 6 & 0o7
        yield (_GROUP, _NOBODY), mode >> 3 & 0o7
        yield (_OTHERS, _NOBODY), mode & 0o7
        return
    for tag, permissions, qualifier in struct.iter_unpack("<HHI", acl):
        yield (tag, qualifier), permissions
