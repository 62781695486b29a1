"""The compiled kernel: built where there is a C compiler, left out where there is none.

It is also left out with `MANNERS_PURE=1` in the environment, and with `--without-kernel`, which pip
hands on from `--config-settings=--global-option=--without-kernel`: .pre-commit-hooks.yaml does so,
because a hook should be installed in a moment.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildExt(build_ext):
    """Builds the extension anew, so that one left by an earlier build is never installed."""

    def build_extension(self, ext: Extension) -> None:
        """Build one extension, after removing what an earlier build left."""
        stale = [Path(self.get_ext_fullpath(ext.name))]
        if self.editable_mode or self.inplace:
            name = Path(self.get_ext_filename(ext.name)).name
            stale.append(Path("src", *ext.name.split(".")[:-1], name))
        for path in stale:
            path.unlink(missing_ok=True)
        super().build_extension(ext)


is_pure = os.environ.get("MANNERS_PURE", "0") not in ("", "0")
if "--without-kernel" in sys.argv:
    sys.argv.remove("--without-kernel")
    is_pure = True

# Sanitizers and planted bugs are for tests: `make asan`, tests/differential.
flags = os.environ.get("MANNERS_CFLAGS", "").split()
extensions = [
    Extension(
        "manners.robots._kernel",
        ["src/manners/robots/_kernel.pyx"],
        depends=sorted(str(path) for path in Path("src/manners/robots").glob("*.pxi")),
        extra_compile_args=["/O2"] if os.name == "nt" else ["-O3", *flags],
        extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
    )
]
modules = [] if is_pure else cythonize(extensions)
for module in modules:
    module.optional = True  # cythonize() drops it when it is given to Extension

setup(ext_modules=modules, cmdclass={"build_ext": BuildExt})
