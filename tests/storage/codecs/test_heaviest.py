"""A state with too much JSON: which part of it is named, and that it is said in time."""

from __future__ import annotations

import json
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, errors, frameworks, lowest
from dynhp.errors import CodecError, Hint
from dynhp.frameworks import Integration
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.codecs import decode, decoder, encode, encoder, register_codec, state_file
from dynhp.storage.codecs import registry as codec_registry
from dynhp.storage.codecs.encoder import Encoder
from dynhp.storage.codecs.state_file import heaviest
from tests.support.messages import raises

LONG = [[place, "a word"] for place in range(50)]


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ({"model": {"curve": LONG, "epoch": 3}, "other": [1, 2]}, "state['model']['curve']"),
        (({"curve": tuple(LONG)}, 1), "state[0]['curve']"),
        (OrderedDict(curve=LONG), "state['curve']"),
        ({3: LONG}, "state[3]"),
        ({"one": {"two": LONG[:16], "more": LONG[16:28]}, "rest": LONG[28:]}, "state['one']"),
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
        with raises(CodecError):
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
        with raises(CodecError):
            run_with_checkpoints(adapter, 60, checkpoint=tmp_path / mode, on_checkpoint_error=mode)
    assert (adapter.epoch, trainer.x) == (0, 1.0)


def test_a_state_of_arrays_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode({"curve": [0.5] * 300_000})


def test_what_an_integration_stores_says_what_to_import(
    registry: Callable[[Integration], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type("Tensor", (), {"__module__": "acme.things", "__repr__": lambda self: "a tensor"})
    with raises(CodecError):
        encode({"weights": kind()})

    def load() -> Integration:
        register_codec(kind, name="acme.tensor", to_plain=str, from_plain=str)
        return Integration(package="dynhp_acme", frameworks=("acme",))

    monkeypatch.setattr(frameworks, "_declared", lambda: [("acme", "dynhp_acme", load)])
    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace())
    monkeypatch.setattr(encoder, "BY_TYPE", dict(encoder.BY_TYPE))
    monkeypatch.setattr(codec_registry, "BY_TYPE", encoder.BY_TYPE)
    monkeypatch.setattr(codec_registry, "BY_NAME", dict(codec_registry.BY_NAME))
    with raises(CodecError):
        encode({"weights": kind()})


def test_a_file_with_things_of_a_framework_says_what_to_import(
    registry: Callable[[Integration], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type("Tensor", (), {})
    register_codec(kind, name="acme.tensor", to_plain=lambda tensor: 1, from_plain=str)
    stored = encode({"weights": kind()})
    del codec_registry.BY_NAME["acme.tensor"], codec_registry.BY_TYPE[kind]
    # Only this type is known: else the texts would list those of all packages imported so far.
    monkeypatch.setattr(decoder, "BY_NAME", {"acme.table": None})
    with raises(CodecError):
        decode(stored)
    registry(Integration(package="dynhp_acme", frameworks=("acme",)))
    with raises(CodecError):
        decode(stored)
