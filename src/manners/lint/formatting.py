"""The formatter: one layout for every robots.txt, and the same meaning."""

from collections.abc import Iterator

from manners.lint.source import MAX_LINE, Source, SourceLine
from manners.robots.directives import BY_NAME

_SPELLINGS = {name.encode(): row.spelling.encode() for name, row in BY_NAME.items()}


def format_body(body: bytes) -> bytes:
    r"""A robots.txt in one layout: comments and the order of lines survive.

    Keys are spelt with a capital letter, one space follows the colon, nothing is indented or ends
    with white space, one blank line is between groups and nowhere more than one, lines end with LF.
    A byte order mark stays. UTF-16, and a file in which no line is a directive that anybody knows,
    is returned as it is. Whether the meaning is the same is for the caller to prove.

    >>> format_body(b"user-agent:*\r\nDisallow : /a\r\nuser-agent:b\r\ndisallow:")
    b'User-agent: *\nDisallow: /a\n\nUser-agent: b\nDisallow:\n'
    """
    source = Source(body)
    kinds = {line.kind for line in source.lines}
    if source.is_utf16 or (kinds.isdisjoint(BY_NAME) and not kinds <= {"blank", "comment"}):
        return body
    mark = body[: len(body) - len(source.data)]
    return mark + b"".join(line + b"\n" for line in _with_blank_lines(source))


def _with_blank_lines(source: Source) -> Iterator[bytes]:
    """The lines, with one blank line between groups and nowhere more than one."""
    heads = _heads(source)
    is_first = True
    is_apart = False
    for line in source.lines:
        text = _formatted(line)
        if not text:
            is_apart = True
            continue
        if not is_first and (is_apart or line.number in heads):
            yield b""
        yield text
        is_first = is_apart = False


def _heads(source: Source) -> set[int]:
    """The numbers of the lines that groups begin with: comments directly above belong to them."""
    found = set()
    for group in source.groups:
        number = group.first.number
        while number > 1 and source.lines[number - 2].kind == "comment":
            number -= 1
        found.add(number)
    return found


def _formatted(line: SourceLine) -> bytes:
    """A line without its line end."""
    raw = line.raw
    if len(raw) > MAX_LINE or b"\0" in raw:
        return raw  # what is read of it ends early, and where must not move
    comment_at = line.comment_at
    content, comment = raw[:comment_at], raw[comment_at:].rstrip()
    key, colon, value = content.partition(b":")
    if line.kind not in BY_NAME or not colon:
        return raw.strip()
    key, value = key.strip(), value.strip()
    parts = [_SPELLINGS.get(key.lower(), key) + b":"]
    if value:
        # Comments may be aligned: the space before them stays.
        parts.append(value + content[len(content.rstrip()) :] + comment)
    elif comment:
        parts.append(comment)
    return b" ".join(parts).rstrip()
