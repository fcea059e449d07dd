"""Noise that tries share is the noise each would have drawn, and its memory has a limit."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp_pyg.example import tiny_split
from dynhp_pyg.noise import Dropout, RecentNoise
from dynhp_pyg.trainer import LinkPredictionTrainer

CPU = torch.device("cpu")
ONES = torch.ones(50)


class Bits:
    """Makes generators, and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> np.random.SFC64:
        self.made += 1
        return np.random.SFC64(7)


def _of(recent: RecentNoise, bits: Callable[[], np.random.SFC64], **changes: object) -> Dropout:
    arguments = {"rate": 0.5, "seed": 1, "epoch": 3, **changes}
    return recent.of(arguments.pop("rate"), bits=bits, device="cpu", **arguments)  # type: ignore[arg-type]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("train"), st.sampled_from([0.2, 0.7]), st.sampled_from([0.0, 0.2, 0.6])),
        st.tuples(st.just("keep")),
        st.tuples(st.just("back"), st.integers(0, 5)),
        st.tuples(st.just("reseed"), st.integers(0, 1)),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(script=steps, inputs=st.sampled_from(["features", "embedding"]))
def test_a_trainer_is_the_same_with_and_without_memory(
    script: list[tuple[object, ...]], inputs: str
) -> None:
    """Whatever is set, trained and reseeded, in whatever order."""
    ours, plain = (
        LinkPredictionTrainer(tiny_split(), width=4, epochs=20, layers=3, inputs=inputs)  # type: ignore[arg-type]
        for _ in range(2)
    )
    plain._recent = RecentNoise(most=0)
    kept = [ours.get_state()]
    for what, *how in script:
        if what == "keep":
            kept.append(ours.get_state())
        for trainer in (ours, plain):
            if what == "train":
                trainer.train_k(2, {"edge_message_ratio": how[0], "dropout": how[1]})
            elif what == "back":
                trainer.set_state(kept[int(how[0]) % len(kept)])  # type: ignore[call-overload]
            elif what == "reseed":
                trainer.reseed(how[0])  # type: ignore[arg-type]
        assert ours.metrics() == pytest.approx(plain.metrics(), abs=0, rel=0, nan_ok=True)
    for name, weight in ours.weights().items():
        assert np.array_equal(weight, plain.weights()[name])


def test_after_the_first_try_nothing_is_drawn() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    origin = trainer.get_state()
    drawn = []
    for ratio in (0.2, 0.5, 0.8):
        trainer.set_state(origin)
        before = _numbers(trainer)
        trainer.train_k(3, {"edge_message_ratio": ratio})
        drawn.append(_numbers(trainer) - before)
    assert drawn[0] > 0
    assert drawn[1:] == [0, 0]


def _numbers(trainer: LinkPredictionTrainer) -> int:
    return sum(noise.numbers for noise in trainer._recent._kept.values())


def test_a_plain_run_remembers_nothing() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    trainer.train_k(3, {})
    assert not trainer._recent._kept


def test_noise_is_given_again_in_the_same_order() -> None:
    recent, bits = RecentNoise(), Bits()
    recent.since(0)
    first = _of(recent, bits)
    given_out = [first.keep(ONES), first.once(lambda: first.keep_anew(ONES)), first.keep(ONES)]
    assert not torch.equal(given_out[0], given_out[2])
    again = _of(recent, bits)
    assert torch.equal(again.keep(ONES), given_out[0])
    assert again.once(lambda: pytest.fail("made twice")) is given_out[1]
    assert torch.equal(again.keep(ONES), given_out[2])
    assert bits.made == 1
    assert again.numbers == 150


@pytest.mark.parametrize("change", [{"rate": 0.25}, {"seed": 2}, {"epoch": 4}])
def test_other_noise_is_drawn_for_itself(change: dict[str, object]) -> None:
    recent, bits = RecentNoise(), Bits()
    recent.since(0)
    assert _of(recent, bits) is not _of(recent, bits, **change)
    assert bits.made == 2


def test_what_lies_before_the_state_that_is_set_is_forgotten() -> None:
    recent, bits = RecentNoise(), Bits()
    recent.since(0)
    early, late = _of(recent, bits, epoch=3), _of(recent, bits, epoch=4)
    recent.since(4)
    assert _of(recent, bits, epoch=4) is late
    assert _of(recent, bits, epoch=3) is not early


def test_memory_is_limited_in_numbers_and_in_epochs() -> None:
    recent, bits = RecentNoise(most=100), Bits()
    recent.since(0)
    for epoch in range(5):
        _of(recent, bits, epoch=epoch).keep(ONES)
    assert [key[2] for key in recent._kept] == [0, 1]
    endless = RecentNoise()
    endless.since(0)
    for epoch in range(1100):
        _of(endless, bits, epoch=epoch)  # an encoder with noise of its own draws no numbers
    assert len(endless._kept) == 1000


def test_without_dropout_there_is_nothing_to_remember() -> None:
    recent, bits = RecentNoise(), Bits()
    recent.since(0)
    noise = _of(recent, bits, rate=0.0)
    assert noise.keep(ONES) is ONES
    assert noise.keep_anew(ONES) is ONES
    assert not recent._kept


def test_a_copy_in_another_process_takes_no_noise_along() -> None:
    recent = RecentNoise()
    recent.since(0)
    _of(recent, Bits()).keep(torch.ones(10_000))
    assert len(pickle.dumps(recent)) < 100
    assert not pickle.loads(pickle.dumps(recent))._kept
