"""Recognise exports of WhatsApp chats in each language. Pure."""

import re

_TIME = (
    r"^(?:\[?\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}(?P<gap>[^\d\n]?[ \u00a0\u202f][^\d\n]{0,8})"
    r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?[^\d\n]{0,14}?(?:\]| -)"
    r"|\[?\d{1,2}:\d\d(?:[^\S\n][aApP][^\d\n]{1,4})?, \d{1,2}/\d{1,2}/\d{2,4}(?:\]| -)"
    r"|\d{4}년 \d{1,2}월 \d{1,2}일 \D{2,4}\d{1,2}:\d\d(?:,| -)) "
)
"""Beginning of a message in an export of WhatsApp. The format depends on the phone's language. In messages that are
copied from WhatsApp Web, and in Vietnamese, the time precedes the date."""
_LINE = re.compile(_TIME + r"(?P<sender>[^\n:]{1,60}): ", re.MULTILINE)
_DIRECTION_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
SEARCHED_BYTES = 64_000
"""Bytes at the beginning of a text file that are searched for messages."""


def is_whatsapp(text: str) -> bool:
    """Whether a text begins with the messages of a WhatsApp chat.

    Two messages are enough if a comma separates date and time, or if the dates are Korean. Otherwise the file may be a
    log or a diary. So one sender must have several messages, and there must be two senders or, if the dates are as in
    logs (2026-05-20), the file must begin with a message without sender, as WhatsApp itself writes it.
    """
    chat = _DIRECTION_MARKS.sub("", text).lstrip()
    first, senders = re.match(_TIME, chat), [match["sender"] for match in _LINE.finditer(chat)]
    if not first or len(senders) < 2:
        return False
    if first["gap"] is None or re.search("[,،]", first["gap"]):
        return True
    is_chat = not _LINE.match(chat) if re.match(r"\[?\d{4}-", chat) else len(set(senders)) > 1
    return is_chat and len(set(senders)) < len(senders)
