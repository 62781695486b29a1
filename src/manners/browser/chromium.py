"""The Chromium of this machine: that of Playwright, or of the system's packages."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from manners.errors import MannersError

if TYPE_CHECKING:
    from playwright.async_api import Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


class NoChromium(MannersError, LookupError):
    """There is no Chromium on this machine.

    >>> print(NoChromium())
    no Chromium was found: run `playwright install chromium`, or install a package of your system
    """

    def __init__(self) -> None:
        super().__init__(
            "no Chromium was found: run `playwright install chromium`, or install a package of"
            " your system"
        )


def chromium(driver: "Playwright") -> str:
    """Where Chromium is, for `executable_path`; raises `NoChromium` where there is none."""
    if Path(driver.chromium.executable_path).exists():
        return driver.chromium.executable_path
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise NoChromium
    return found


def may_sandbox() -> bool:
    """Whether Chromium may use its sandbox: it does not start with one for root."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0
