"""Shared noise is the noise that each try would have drawn, and its memory has a limit."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp_pyg.model.dropout import DropoutNoise, RecentNoise
from dynhp_pyg.model.engines.inputs import InputKind, SparseInput
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import tiny_split

CPU = torch.device("cpu")
ONES = torch.ones(50)


class CountedGenerators:
    """Makes generators, and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> np.random.SFC64:
        self.made += 1
        return np.random.SFC64(7)


def _of(
    recent: RecentNoise,
    bits: Callable[[], np.random.SFC64],
    *,
    rate: float = 0.5,
    seed: int = 1,
    epoch: int = 3,
) -> DropoutNoise:
    return recent.of(rate, seed=seed, epoch=epoch, bits=bits, device="cpu")


def _gone_back(**limits: int) -> RecentNoise:
    """A memory of a trainer that has gone back to the start."""
    recent = RecentNoise(**limits)
    _of(recent, CountedGenerators(), epoch=0)
    recent.since(0)
    return recent


steps = st.lists(
    st.tuples(
        st.sampled_from(["train", "keep", "back", "reseed"]),
        st.integers(0, 5),
        st.sampled_from([0.2, 0.7]),
        st.sampled_from([0.0, 0.2, 0.6]),
    ),
    max_size=12,
)
inputs_to_try: list[InputKind] = ["features", "embedding"]


@settings(max_examples=60, deadline=None)
@given(script=steps, inputs=st.sampled_from(inputs_to_try))
def test_a_trainer_is_the_same_with_and_without_memory(
    script: list[tuple[str, int, float, float]], inputs: InputKind
) -> None:
    """Whatever is set, trained and reseeded, in any order."""
    remembering, plain = (
        LinkPredictionTrainer(tiny_split(), width=4, epochs=20, layers=3, inputs=inputs)
        for _ in range(2)
    )
    plain._recent = RecentNoise(most=0)
    kept = [remembering.get_state()]
    for what, number, ratio, dropout in script:
        if what == "keep":
            kept.append(remembering.get_state())
        for trainer in (remembering, plain):
            if what == "train":
                trainer.train_k(2, {"edge_message_ratio": ratio, "dropout": dropout})
            elif what == "back":
                trainer.set_state(kept[number % len(kept)])
            elif what == "reseed":
                trainer.reseed(number % 2)
        assert remembering.metrics() == pytest.approx(plain.metrics(), abs=0, rel=0, nan_ok=True)
    for name, weight in remembering.weights().items():
        assert np.array_equal(weight, plain.weights()[name])


def test_once_a_trainer_has_gone_back_nothing_is_drawn_twice() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    drawn = []
    for _round in range(2):
        origin = trainer.get_state()
        for ratio in (0.2, 0.5, 0.8):
            trainer.set_state(origin)
            before = _numbers(trainer)
            trainer.train_k(3, {"edge_message_ratio": ratio})
            drawn.append(_numbers(trainer) - before)
    # The first try of all is not remembered: it might be a plain run, resumed.
    assert [bool(each) for each in drawn] == [False, True, False, True, False, False]


def _numbers(trainer: LinkPredictionTrainer) -> int:
    return sum(noise.numbers for noise in trainer._recent._kept.values())


def test_a_run_that_never_goes_back_remembers_nothing() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    trainer.train_k(3, {})
    assert not trainer._recent._kept
    twin = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    twin.set_state(trainer.get_state())
    twin.train_k(3, {})
    assert not twin._recent._kept


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_epoch_that_was_broken_off_is_drawn_anew(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    remembering, plain = (LinkPredictionTrainer(tiny_split(), width=4, epochs=20) for _ in range(2))
    origin = remembering.get_state()
    for _ in range(2):  # the second time it is remembered
        remembering.train_k(1, {})
        remembering.set_state(origin)
    remembering._recent._kept.clear()

    def broken(inputs: SparseInput, noise: DropoutNoise) -> None:
        noise.keep_anew(inputs.matrix.values)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(SparseInput, "noisy", broken)
        with pytest.raises(error):
            remembering.train_k(1, {})
    assert remembering._recent._kept
    remembering.set_state(origin)
    for trainer in (remembering, plain):
        trainer.train_k(2, {})
    assert np.array_equal(remembering.get_state()["parameters"], plain.get_state()["parameters"])


def test_once_does_not_nest() -> None:
    noise = DropoutNoise(0.5, np.random.SFC64(0), CPU)
    with pytest.raises(AssertionError, match="once within once"):
        noise.once(lambda: noise.keep(ONES))
    assert not noise.whole


def test_noise_is_given_again_in_the_same_order() -> None:
    recent, bits = _gone_back(), CountedGenerators()
    first = _of(recent, bits)
    given_out = [first.keep(ONES), first.once(lambda: first.keep_anew(ONES)), first.keep(ONES)]
    assert not torch.equal(given_out[0], given_out[2])
    again = _of(recent, bits)
    assert torch.equal(again.keep(ONES), given_out[0])
    assert again.once(lambda: pytest.fail("made twice")) is given_out[1]
    assert torch.equal(again.keep(ONES), given_out[2])
    assert bits.made == 1
    assert again.numbers == 150


def test_other_noise_is_drawn_for_itself() -> None:
    recent, bits = _gone_back(), CountedGenerators()
    usual = _of(recent, bits)
    others = [_of(recent, bits, rate=0.25), _of(recent, bits, seed=2), _of(recent, bits, epoch=4)]
    assert all(other is not usual for other in others)
    assert bits.made == 4


def test_what_lies_before_the_state_that_is_set_is_forgotten() -> None:
    recent, bits = _gone_back(), CountedGenerators()
    early, late = _of(recent, bits, epoch=3), _of(recent, bits, epoch=4)
    recent.since(4)
    assert _of(recent, bits, epoch=4) is late
    assert _of(recent, bits, epoch=3) is not early


def test_memory_is_limited_in_numbers_and_in_epochs() -> None:
    recent, bits = _gone_back(most=100), CountedGenerators()
    for epoch in range(5):
        _of(recent, bits, epoch=epoch).keep(ONES)
    assert [key[2] for key in recent._kept] == [0, 1]
    endless = _gone_back()
    for epoch in range(1100):
        _of(
            endless, bits, epoch=epoch
        )  # an encoder that draws its own noise draws none of these numbers
    assert len(endless._kept) == 1000


def test_without_dropout_there_is_nothing_to_remember() -> None:
    recent, bits = _gone_back(), CountedGenerators()
    noise = _of(recent, bits, rate=0.0)
    assert noise.keep(ONES) is ONES
    assert noise.keep_anew(ONES) is ONES
    assert not recent._kept


def test_a_copy_in_another_process_takes_no_noise_along() -> None:
    recent = _gone_back(most=12_345)
    _of(recent, CountedGenerators()).keep(torch.ones(10_000))
    copy = pickle.loads(pickle.dumps(recent))
    assert recent._kept
    assert not copy._kept
    assert copy._most == 12_345
