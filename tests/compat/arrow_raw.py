"""Arrow data made by hand, with ctypes: what a producer with a bug, or a bad one, hands over.

The structures are those of the Arrow C data interface. Every pointer can be set to anything, and
how often something was released is counted.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

SCHEMA, ARRAY, STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"
"""The names of capsules, which have to live as long as they do."""

_address = ctypes.c_void_p
_release = ctypes.CFUNCTYPE(None, _address)
_get = ctypes.CFUNCTYPE(ctypes.c_int, _address, _address)
_said = ctypes.CFUNCTYPE(_address, _address)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [_address, ctypes.c_char_p, _address]


class Schema(ctypes.Structure):
    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", _address),
        ("dictionary", _address),
        ("release", _release),
        ("private_data", _address),
    )


class Array(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", _address),
        ("children", _address),
        ("dictionary", _address),
        ("release", _release),
        ("private_data", _address),
    )


class Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", _get),
        ("get_next", _get),
        ("get_last_error", _said),
        ("release", _release),
        ("private_data", _address),
    )


def capsule(structure: object, name: bytes) -> object:
    """A capsule that releases nothing by itself."""
    return _new_capsule(ctypes.addressof(structure), name, None)  # type: ignore[arg-type]


def pointers(things: Sequence[Any]) -> Any:
    """An array of pointers; None is a null pointer."""
    addresses = [None if each is None else ctypes.addressof(each) for each in things]
    return (_address * len(things))(*addresses)


def memory(content: bytes) -> Any:
    """Just as much memory as the bytes need."""
    return (ctypes.c_char * len(content)).from_buffer_copy(content)


class Raw:
    """A column of texts or a table, before and after somebody has broken it.

    `schema` and `array` can be changed at will; `released` says how often the array was.
    """

    def __init__(
        self,
        layout: bytes,
        length: int,
        buffers: Sequence[Any] = (),
        children: Sequence["Raw"] = (),
        name: bytes | None = b"urls",
    ) -> None:
        self.released = 0
        self.children = children
        self._kept: list[Any] = [buffers, layout, name]
        self.schema = Schema(format=layout, name=name, n_children=len(children))
        self.array = Array(
            length=length,
            null_count=-1,
            n_buffers=len(buffers),
            n_children=len(children),
            buffers=self.pointer_to(pointers(buffers)),
        )
        self.schema.release = self._schema_release = _release(self._drop_schema)
        self.array.release = self._array_release = _release(self._drop_array)
        self.schema.children = self.pointer_to(pointers([each.schema for each in children]))
        self.array.children = self.pointer_to(pointers([each.array for each in children]))

    def pointer_to(self, thing: Any) -> int:
        """Where a thing is, which lives from now on as long as this one."""
        self._kept.append(thing)
        return ctypes.addressof(thing)

    def _drop_schema(self, address: int) -> None:
        Schema.from_address(address).release = _release()

    def _drop_array(self, address: int) -> None:
        self.released += 1
        Array.from_address(address).release = _release()

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return capsule(self.schema, SCHEMA), capsule(self.array, ARRAY)


def offsets(numbers: Sequence[int], text: bytes, layout: bytes = b"u") -> Raw:
    """A column with these offsets, right or wrong."""
    number = ctypes.c_int64 if layout in (b"U", b"Z") else ctypes.c_int32
    places = (number * len(numbers))(*numbers)
    return Raw(layout, len(numbers) - 1, [None, places, memory(text)])


def view(size: int, buffer: int, offset: int, prefix: bytes = b"http") -> bytes:
    """A text that lies elsewhere."""
    numbers = [each.to_bytes(4, "little", signed=True) for each in (size, buffer, offset)]
    return numbers[0] + prefix + numbers[1] + numbers[2]


def views(made: Sequence[bytes], *texts: bytes) -> Raw:
    """A column of views into these texts."""
    sizes = (ctypes.c_int64 * max(1, len(texts)))(*map(len, texts))
    held = [memory(text) for text in texts]
    return Raw(b"vu", len(made), [None, memory(b"".join(made)), *held, sizes])


def table(length: int, *columns: Raw) -> Raw:
    """Columns side by side."""
    return Raw(b"+s", length, [None], columns, name=b"")


class RawStream:
    """A stream of hand-made chunks; after them comes the error, unless it is 0."""

    def __init__(self, chunks: Sequence[Raw], error: int = 0, said: bytes | None = b"no") -> None:
        self.released, self.asked = 0, 0
        self.chunks, self.error, self.said = chunks, error, said
        self.schema_error = 0
        self.stream = Stream(
            get_schema=_get(self._schema),
            get_next=_get(self._next),
            get_last_error=_said(self._last_error),
            release=_release(self._drop),
        )
        self._message = ctypes.create_string_buffer(said) if said is not None else None

    def _schema(self, _: int, target: int) -> int:
        if not self.schema_error:
            ctypes.memmove(target, ctypes.addressof(self.chunks[0].schema), ctypes.sizeof(Schema))
        return self.schema_error

    def _next(self, _: int, target: int) -> int:
        at, self.asked = self.asked, self.asked + 1
        if at < len(self.chunks):
            ctypes.memmove(target, ctypes.addressof(self.chunks[at].array), ctypes.sizeof(Array))
            return 0
        ctypes.memset(target, 0, ctypes.sizeof(Array))
        return self.error

    def _last_error(self, _: int) -> int | None:
        return None if self._message is None else ctypes.addressof(self._message)

    def _drop(self, address: int) -> None:
        self.released += 1
        Stream.from_address(address).release = _release()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return capsule(self.stream, STREAM)
