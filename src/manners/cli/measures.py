"""Metrics of a command: served while it runs, where --metrics-port says."""

import sys
from contextlib import ExitStack
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Self

from manners.cli.inputs import Unusable

if TYPE_CHECKING:
    from manners.events import Listener
    from manners.settings import Settings


class Measures:
    """Counts what a command does, and serves it until it is closed; nothing without a port."""

    def __init__(self, settings: "Settings", worker: int = 0) -> None:
        self.listener: Listener | None = None
        """Takes the events; None if nobody wants metrics."""
        self._stack = ExitStack()
        if settings.metrics_port is None:
            return
        from manners.settings.checking import metrics_place

        metrics = import_module("manners.compat.prometheus").Metrics()
        address, port = metrics_place(settings.metrics_port)
        try:
            # Workers of one command have a port each, one after the other.
            place = self._stack.enter_context(metrics.serve(port and port + worker, address))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "no such port"
            raise Unusable(f"--metrics-port {settings.metrics_port}: {reason}") from None
        print(f"metrics at {place}", file=sys.stderr, flush=True)
        self.listener = metrics

    def close(self) -> None:
        """Serve them no longer."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()
