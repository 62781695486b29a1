"""The tester as one HTML file: page, engine and a Python for browsers, to be opened from a disk.

Python comes from the npm package `pyodide`, which is not a part of this package: it is twenty times
as large. Whoever makes the file has it in hand; its hash is checked.
"""

import base64
import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable

from manners import __version__
from manners.errors import MannersError
from manners.report.html.page import ICON

PYODIDE = "pyodide-314.0.7.tgz"
"""The npm package that the page is made with."""
NPM_PACK = "npm pack pyodide@314.0.7"
"""What downloads it."""
PYODIDE_INTEGRITY = "sha512-" + (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
"""Its hash, as registries of npm packages write it."""
MAX_PACKAGE = 50 * 1024 * 1024
"""Bytes of it that are read."""

_ENGINE = (
    *("robots", "lint", "signals", "tester"),
    *("__init__", "_compiled", "_family", "_text", "charset", "errors", "urls"),
)
"""What is needed of this package: a test asks every question with that alone."""
_DROPPED = (
    *("_pyrepl", "multiprocessing", "unittest", "xmlrpc", "wsgiref", "sqlite3", "curses", "dbm"),
    *("pydoc_data", "pydoc.py", "pdb.py", "doctest.py", "imaplib.py", "mailbox.py", "smtplib.py"),
    *("optparse.py", "pickletools.py", "difflib.py", "statistics.py", "turtle.py", "tkinter"),
    *("poplib.py", "ftplib.py", "configparser.py", "idlelib", "ensurepip", "venv", "ctypes"),
)
"""What is not needed of the standard library."""
_ENCODINGS = ("__init__", "aliases", "ascii", "cp437", "idna", "latin_1", "punycode")
_SCRIPTS = (
    *("elements", "latest", "fragment", "editor", "table", "panels"),
    *("tester", "diff", "offline", "single"),
)
"""The modules of the page, each behind those that it imports."""
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)
_NOTICE = f"""\
The tester of manners {__version__} (Apache License 2.0), as one file that loads nothing.
It contains Pyodide (Mozilla Public License 2.0), whose source is the npm package pyodide,
with CPython (Python Software Foundation License), and idna (BSD 3-Clause License).
"""


class WrongPackage(MannersError, ValueError):
    """A file that is not the package of Pyodide that the page is made with."""


def single_page(package: bytes) -> str:
    """The page; `package` is the npm package of Pyodide, as it is packed."""
    if _integrity("sha512", package) != PYODIDE_INTEGRITY:
        raise WrongPackage(f"this is not {PYODIDE}, by its hash; {NPM_PACK!r} downloads it")
    style = _style()
    script, worker = _bundle(), _asset("tester/worker.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)} blob: 'wasm-unsafe-eval';"
        f" worker-src blob:; style-src {_hash(style)}; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    template = (files("manners.web") / "templates" / "single.html").read_text("utf-8")
    parts = {
        "notice": escape(_NOTICE),
        "policy": policy,
        "icon": escape(ICON),
        "style": style,
        "tester": _body("tester"),
        "diff": _body("diff"),
        "files": "\n".join(_embedded(package)),
        "worker": worker,
        "script": script,
        "version": escape(__version__),
    }
    return re.sub(r"\[\[(\w+)\]\]", lambda found: parts[found[1]], template)


def engine_archive() -> bytes:
    """The modules of this package that the page runs, and idna, as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        own = files("manners")
        for name in _ENGINE:
            top = own / name if (own / name).is_dir() else own / f"{name}.py"
            for place, body in _sources(top, f"manners/{top.name}"):
                archive.writestr(zipfile.ZipInfo(place), body, zipfile.ZIP_DEFLATED)
        for place, body in _sources(files("idna"), "idna"):
            archive.writestr(zipfile.ZipInfo(place), body, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _sources(place: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    if place.is_dir():
        for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
            yield from _sources(entry, f"{name}/{entry.name}")
    elif name.endswith(".py"):
        yield name, place.read_bytes()


def _embedded(package: bytes) -> Iterator[str]:
    """The files that Python is started with, each in an element that is no script."""
    for name, body in (*_machine(package), ("manners.zip", engine_archive())):
        is_packed = name.endswith(".zip")
        data = base64.b64encode(body if is_packed else gzip.compress(body, 9, mtime=0)).decode()
        about = f'data-file="{name}" data-gzip="{int(not is_packed)}"'
        yield f'<script type="text/plain" {about}>{data}</script>'


def _machine(package: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as archive:

        def member(name: str) -> bytes:
            found = archive.extractfile(f"package/{name}")
            assert found is not None  # noqa: S101 (the hash says which archive this is)
            return found.read()

        for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"):
            yield name, member(name)
        lock = json.loads(member("pyodide-lock.json"))
        yield "pyodide-lock.json", json.dumps({**lock, "packages": {}}).encode()
        yield "python_stdlib.zip", _trimmed(member("python_stdlib.zip"))


def _trimmed(library: bytes) -> bytes:
    """The standard library without what a page has no use for."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(library)) as source,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for entry in source.infolist():
            top, _, rest = entry.filename.partition("/")
            encoding = rest.partition(".")[0]
            is_known = encoding in _ENCODINGS or encoding.startswith(("utf_", "unicode_", "raw_"))
            if top not in _DROPPED and (top != "encodings" or is_known):
                info = zipfile.ZipInfo(entry.filename)
                archive.writestr(info, source.read(entry), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _bundle() -> str:
    """The modules of the page as one script: each in a function, which returns what it exports."""
    parts = [_wrapped(name, _asset(f"tester/{name}.js")) for name in _SCRIPTS]
    return "const modules = {};\n" + "\n".join(parts)


def _wrapped(name: str, source: str) -> str:
    """A module in a function.

    >>> print(_wrapped("a", 'import { b } from "./c.js";\\nexport function f() {}\\n'))
    modules["a"] = await (async () => {
    const { b } = modules["c"];
    function f() {}
    return { f };
    })();
    """
    names = ", ".join(found[2] for found in _EXPORT.finditer(source))
    body = _IMPORT.sub(r'const { \1 } = modules["\2"];', source)
    body = _EXPORT.sub(r"\1 \2", body)
    return f'modules["{name}"] = await (async () => {{\n{body}return {{ {names} }};\n}})();'


def _body(name: str) -> str:
    return (files("manners.web") / "templates" / f"{name}_body.html").read_text("utf-8")


def _asset(name: str) -> str:
    return (files("manners.web") / "static" / name).read_text("utf-8")


def _style() -> str:
    shared = (files("manners.report.html") / "base.css").read_text("utf-8")
    return "\n".join((shared, _asset("style.css"), _asset("tester/tester.css")))


def _hash(text: str) -> str:
    """The hash by which a policy knows an element."""
    return f"'{_integrity('sha256', text.encode())}'"


def _integrity(kind: str, data: bytes) -> str:
    return f"{kind}-{base64.b64encode(hashlib.new(kind, data).digest()).decode()}"
