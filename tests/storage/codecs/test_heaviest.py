"""A state with too much JSON: which part of it is named, and that it is said in time."""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, errors, lowest
from dynhp.errors import CodecError, Hint
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.codecs import encode, state_file
from dynhp.storage.codecs.encoder import Encoder
from dynhp.storage.codecs.heaviest import heaviest

LONG = [[place, "a word"] for place in range(50)]


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ({"model": {"curve": LONG, "epoch": 3}, "other": [1, 2]}, "state['model']['curve']"),
        (({"curve": tuple(LONG)}, 1), "state[0]['curve']"),
        (OrderedDict(curve=LONG), "state['curve']"),
        ({3: LONG}, "state[3]"),
        ({"one": LONG[:25], "two": LONG[25:], "three": LONG[:24]}, "state"),
        ("text" * 100, "state"),
        ([], "state"),
    ],
)
def test_what_takes_most_is_named(state: Any, path: str) -> None:
    node = Encoder().state(state)
    named, size = heaviest(node)
    assert named == path
    assert size <= len(json.dumps(node, separators=(",", ":")))


class Grows:
    """Its state has a list of pairs, which grows."""

    def __init__(self) -> None:
        self.x, self.seen = 1.0, [[0, "a"]]

    def get_state(self) -> Any:
        return {"x": self.x, "seen": list(self.seen)}

    def set_state(self, state: Any) -> None:
        self.x, self.seen = state["x"], list(state["seen"])

    def train_k(self, k: int, hyperparameters: Any) -> None:
        for _ in range(k):
            self.x *= 1 - hyperparameters["lr"]
            self.seen += [[place, "a word"] for place in range(100)]

    def metrics(self) -> dict[str, float]:
        return {"loss": self.x}


def test_a_list_that_grows_is_named_long_before_it_is_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state_file, "MOST_STATE", 32_000)
    monkeypatch.setattr(errors, "_given", set())
    adapter = DynamicGridAdapter(
        Grows(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(CodecError, match=r"most of them \(\d+\) for state\[.*\['seen'\];"):
            run_with_checkpoints(adapter, 60, checkpoint=tmp_path)
    hints = [str(each.message) for each in caught if each.category is Hint]
    hint = next(each for each in hints if "JSON" in each)
    assert "['seen'] takes " in hint
    assert "if it grows from round to round, checkpoints will fail; keep what is long in" in hint


def test_what_is_too_much_at_the_start_is_refused_before_anything_is_trained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state_file, "MOST_STATE", 1_000)
    trainer = Grows()
    trainer.seen *= 1000
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    for mode in ("stop", "warn"):
        with pytest.raises(CodecError, match=r"for state\['trainer'\]\['seen'\]; keep what is"):
            run_with_checkpoints(adapter, 60, checkpoint=tmp_path / mode, on_checkpoint_error=mode)
    assert (adapter.epoch, trainer.x) == (0, 1.0)


def test_a_state_of_arrays_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode({"curve": [0.5] * 300_000})


def test_what_is_of_torch_says_what_to_import() -> None:
    kind = type("Tensor", (), {"__module__": "torch.things", "__repr__": lambda self: "a tensor"})
    with pytest.raises(CodecError, match=r"stored: a tensor\. Write import dynhp_torch, which"):
        encode({"weights": kind()})
