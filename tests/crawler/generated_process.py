"""The command in a process of its own, with somebody who watches how it is treated.

    python -m tests.crawler.generated_process STANDSTILLS crawl URL…

A process that stands still, for want of a processor or because the collector looks through all of
its memory, sends late what it meant to send in time; what follows then seems to come early. Only
that is written down, and it is there also when the process is killed.
"""

import gc
import os
import runpy
import sys
import threading
import time

BEAT = 0.005
LEAST = BEAT / 10


class Watch:
    """Writes down when this process stands still through no fault of its own, and how long."""

    def __init__(self, path: str) -> None:
        self._place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._collecting = 0.0
        gc.callbacks.append(self._collected)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            begun, worked = time.monotonic(), time.process_time()
            time.sleep(BEAT)
            ended = time.monotonic()
            self._write(ended, ended - begun - BEAT - (time.process_time() - worked))

    def _collected(self, phase: str, _: object) -> None:
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._write(time.monotonic(), time.thread_time() - self._collecting)

    def _write(self, ended: float, lost: float) -> None:
        if lost > LEAST:
            os.write(self._place, f"{ended} {lost}\n".encode())


if __name__ == "__main__":
    Watch(sys.argv.pop(1))
    runpy.run_module("manners", run_name="__main__", alter_sys=True)
