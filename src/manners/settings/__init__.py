"""Settings: every number and choice, from options, environment, file and defaults, in this order.

    option                       what the caller passes
    MANNERS_…                    MANNERS_MAX_PAGES=50
    MAX_PAGES, …                 with like = "audit" only: the names of that system's document
    manners.toml, or scan.yml    the file named, else ./manners.toml if there is one; below a
                                 scan.yml the manners.toml beside it
    default

    fields.py       every setting: type, default, limits, option of commands
    model.py        `Settings`: the values, checked
    loading.py      `load`: which layer wins, and where each value came from
    lint_table.py   the table [lint] of manners.toml, which is for the linter only
    documents/      what the layers are read from, one file each

Nothing else in this package reads the environment or a file of settings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manners.errors import SettingsError as SettingsError
from manners.settings.names import warn_deprecated

if TYPE_CHECKING:
    from manners.settings.loading import Loaded as Loaded
    from manners.settings.loading import load as load
    from manners.settings.model import HostSettings as HostSettings
    from manners.settings.model import Settings as Settings
else:
    _HOME = {"Settings": "model", "HostSettings": "model", "Loaded": "loading", "load": "loading"}

    def __getattr__(name: str) -> Any:
        # Loaded when first used: `fields` must be importable without msgspec.
        if name == "Host":
            warn_deprecated("manners.settings.Host is now HostSettings; works until 1.0")
            name = "HostSettings"
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
