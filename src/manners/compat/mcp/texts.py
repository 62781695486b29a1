"""Texts of pages that were fetched, so that reading on costs no second request. Quiet."""

from collections import OrderedDict
from typing import Generic, NamedTuple, Protocol, TypeVar

MAX_TEXTS = 16
MAX_CHARACTERS = 16_000_000
"""Of all texts together; one that is longer by itself is kept alone."""


class _Sized(Protocol):
    @property
    def text(self) -> str:
        """What counts."""


_Text = TypeVar("_Text", bound=_Sized)


class TextMemory(Generic[_Text]):
    """The texts that were read last, by the URL that was asked for.

    >>> memory = TextMemory[TextPart]()
    >>> memory.keep("https://example.com/", part_of("some text", 0, 4))
    >>> memory.get("https://example.com/").text
    'some'
    """

    def __init__(self) -> None:
        self._texts: OrderedDict[str, _Text] = OrderedDict()

    def keep(self, url: str, text: _Text) -> None:
        """Keep a text, and drop those that were not read for longest."""
        self._texts.pop(url, None)
        self._texts[url] = text
        while len(self._texts) > 1 and self._is_full():
            self._texts.popitem(last=False)

    def get(self, url: str) -> _Text | None:
        """The text of a URL, if it is kept."""
        text = self._texts.get(url)
        if text is not None:
            self._texts.move_to_end(url)
        return text

    def _is_full(self) -> bool:
        size = sum(len(text.text) for text in self._texts.values())
        return len(self._texts) > MAX_TEXTS or size > MAX_CHARACTERS


class TextPart(NamedTuple):
    """A part of a text, and where the next one begins; None behind the last."""

    text: str
    next_start: int | None


def part_of(text: str, start: int, most: int) -> TextPart:
    """A part of a text that ends with a line or a word, if one ends in its last fifth.

    >>> part_of("one two three four", 0, 15)
    TextPart(text='one two three ', next_start=14)
    """
    end = start + most
    if end >= len(text):
        return TextPart(text[start:], None)
    for mark in ("\n", " "):
        found = text.rfind(mark, end - most // 5, end)
        if found > start:
            end = found + 1
            break
    return TextPart(text[start:end], end)
