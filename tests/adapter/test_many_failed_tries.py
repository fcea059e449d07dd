"""An error that lists tries is short however many have failed."""

from __future__ import annotations

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import AllTriesFailed
from tests.support.reference import Diary


def test_of_many_failed_tries_the_first_are_listed() -> None:
    trainer = Diary({0: 1.0, **{number: ValueError("bad " * 500) for number in range(1, 300)}})
    adapter = DynamicGridAdapter(
        trainer, {"x": list(trainer.losses)}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    trainer.losses[0] = ValueError("bad")
    with pytest.raises(AllTriesFailed) as caught:
        adapter.step()
    assert str(caught.value).endswith("  and 280 more")
    assert len(str(caught.value)) < 6000
