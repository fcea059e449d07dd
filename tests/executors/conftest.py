"""A pool of puppets, for the tests of the dispatcher and of the pool itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.puppets import PuppetPool, PuppetTransport


@pytest.fixture
def pool() -> Iterator[PuppetPool]:
    """Two workers at most; ``pool.transport.script`` makes their answers, in order of starts."""
    made = PuppetPool(PuppetTransport(), size=2)
    yield made
    made.close()
