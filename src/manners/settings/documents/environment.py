"""The environment: `MANNERS_…`, and the variables of a system's own document."""

from collections.abc import Mapping

from manners.settings.documents import Layer, SourcedValue
from manners.settings.model import Settings, types_of
from manners.settings.names import NOT_SETTINGS, PREFIX, RENAMED, refuse
from manners.settings.systems import System


def read_own(environment: Mapping[str, str]) -> Layer:
    """The settings in variables named `MANNERS_…`."""
    known = types_of(Settings)
    for variable, value in environment.items():
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS:
            name, source = variable.removeprefix(PREFIX).lower(), f"environment: {variable}"
            if name not in known and name not in RENAMED:
                refuse(variable, [PREFIX + setting.upper() for setting in known], source)
            yield name, SourcedValue(value, source, is_text=True)


def read_system(environment: Mapping[str, str], system: System) -> Layer:
    """The settings in the variables that a system's document names."""
    for variable, names in system.names.items():
        for name in names if variable in environment else ():
            source = f"environment: {variable}"
            yield name, SourcedValue(environment[variable], source, is_text=True)
