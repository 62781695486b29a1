"""What all tests share."""

import pytest

_GZIP = b"\x1f\x8b"


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A name for a gzip file among the parameters of a test, instead of its bytes.

    It holds the time when it was made, and workers that collect in different seconds would not
    agree on which tests there are.
    """
    del config, argname
    return "gzip" if isinstance(val, bytes) and _GZIP in val else None
