"""Both kinds of stores, for the tests of this folder."""

import pytest

from tests.evidence.places import Places


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places of one kind."""
    folder = tmp_path_factory.mktemp("stores")
    is_file = request.param == "sqlite"
    return Places(folder) if is_file else Places(folder, request.getfixturevalue("postgres"))
