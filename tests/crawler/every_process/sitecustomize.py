"""Loaded by Python itself when a process of a fleet begins: see `fleet_process.py`."""

import os

if "FLEET_FOLDER" in os.environ:
    from tests.crawler.fleet_process import begin

    begin()
