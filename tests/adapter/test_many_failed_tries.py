"""An error that lists tries is short however many have failed."""

from __future__ import annotations

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import AllTriesFailed
from tests.support.reference import Diary, diary_adapter


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


def failures(tries: int, message: str) -> list[str]:
    """The lines of an error after so many tries have failed."""
    trainer = Diary({number: ValueError(message) for number in range(tries)})
    with pytest.raises(AllTriesFailed) as caught:
        diary_adapter(trainer, initial={"x": 0}).step()
    return str(caught.value).splitlines()[1:]


@pytest.mark.parametrize(("tries", "last"), [(20, "  {'x': 19}: "), (21, "  and 1 more")])
def test_twenty_are_listed_and_the_others_counted(tries: int, last: str) -> None:
    lines = failures(tries, "bad")
    assert len(lines) == min(tries, 21)
    assert lines[0] == "  {'x': 0}: ValueError: bad"
    assert lines[-1].startswith(last)


def test_of_each_the_first_line_is_shown_up_to_200_characters() -> None:
    (line, _) = failures(2, "b" * 300 + "\nmore")
    assert line == "  {'x': 0}: ValueError: " + "b" * (200 - len("ValueError: "))


def test_a_long_candidate_is_cut_after_100_characters() -> None:
    trainer = Diary({"v" * 150: ValueError("bad"), "w": ValueError("bad")})
    with pytest.raises(AllTriesFailed) as caught:
        diary_adapter(trainer, initial={"x": "w"}).step()
    long, short = sorted(str(caught.value).splitlines()[1:])
    assert long == "  {'x': '" + "v" * (100 - len("  {'x': '")) + "ValueError: bad"
    assert short == "  {'x': 'w'}: ValueError: bad"
