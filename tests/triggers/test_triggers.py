"""Each trigger against ten plain lines that say the same, and the laws that all of them obey."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.triggers import At, Due, Every, LineSoFar, OnPlateau, OnSpike, any_of
from dynhp.triggers.contract import ask, looks_at, next_look
from dynhp.triggers.spike import NotFinite
from tests.support.kinds import TRIGGERS
from tests.support.messages import raises

losses = st.lists(st.sampled_from([0.1, 0.2, 0.4, 0.5, 1.0, 4.0, math.nan, math.inf]), max_size=20)


def line_of(values: list[float], **more: Any) -> LineSoFar:
    measured = [(number, {"loss": value, "norm": -value}) for number, value in enumerate(values)]
    return LineSoFar(measured, **({"epoch": len(values), "planned": 20} | more))


def plateau(values: list[float], patience: int, delta: float, since: int) -> bool:
    """Whether the last ``patience`` epochs, all after ``since``, brought nothing better."""
    best, at = math.inf, None
    for number, value in enumerate(values):
        if math.isfinite(value) and (at is None or value < best - delta):
            best, at = value, number
    return at is not None and len(values) - max(at + 1, since) >= patience


@given(
    losses, st.integers(1, 5), st.sampled_from([0.0, 0.15]), st.integers(0, 9), st.integers(0, 3)
)
def test_a_plateau_is_where_the_reference_sees_it(
    values: list[float], patience: int, delta: float, since: int, cooldown: int
) -> None:
    trigger = OnPlateau("loss", patience=patience, min_delta=delta, cooldown=cooldown)
    line = line_of([], since=since)
    for number, value in enumerate(values):  # asked after every epoch, as a run does
        line.measured = line.measured.and_then([(number, {"loss": value})])
        line.epoch = number + 1
        expected = plateau(values[: number + 1], patience, delta, since + cooldown)
        assert (trigger(line) is not None) == expected


def test_higher_can_be_better() -> None:
    rising = line_of([-1.0, -2.0, -3.0])  # so the norm rises
    assert OnPlateau("norm", patience=2)(rising) is not None
    assert OnPlateau("norm", patience=2, better="higher")(rising) is None


def spike(values: list[float], window: int, factor: float | None, sigmas: float | None) -> bool:
    """Whether the last value is not finite, or far above those before it."""
    *before, last = values
    known = [value for value in before[-window:] if math.isfinite(value)]
    if not math.isfinite(last):
        return True
    if factor is not None:
        return bool(known) and last > factor * statistics.median(known)
    if len(known) < window:
        return False
    assert sigmas is not None
    mean = statistics.fmean(known)
    usual = max(statistics.pstdev(known), 0.001 * abs(mean))
    return usual > 0 and last - mean > sigmas * usual + 1e-12


@given(
    losses.filter(len), st.integers(2, 6), st.sampled_from([(1.5, None), (3.0, None), (None, 1.7)])
)
def test_a_spike_is_where_the_reference_sees_it(
    values: list[float], window: int, much: tuple[float | None, float | None]
) -> None:
    trigger = OnSpike("loss", window=window, factor=much[0], sigmas=much[1])
    due = trigger(line_of(values))
    assert (due is not None) == spike(values, window, *much)
    if due is not None:
        assert due.alarm
        assert due.healthy == len(values) - 1


@pytest.mark.parametrize(
    ("values", "sign", "is_spike"),
    [
        ([2.0] * 5 + [2.0 + 1e-9], 1, False),
        ([2.0] * 5 + [2.011], 1, False),
        ([2.0] * 5 + [2.013], 1, True),
        ([0.3] * 5 + [0.3000001], 1, False),  # whose mean is a bit off
        ([-2.0] * 5 + [-1.989], 1, False),
        ([-2.0] * 5 + [-1.987], 1, True),
        ([2.0] * 5 + [1.989], -1, False),
        ([2.0] * 5 + [1.987], -1, True),
        ([0.0] * 5 + [1e-9], 1, False),  # after zeros nothing says what is much
        ([0.0] * 5 + [math.nan], 1, True),
        ([2.0, 2.1, 1.9, 2.0, 2.1, 2.3], 1, False),  # 4 deviations
        ([2.0, 2.1, 1.9, 2.0, 2.1, 2.5], 1, True),  # 6.4
    ],
)
def test_values_that_hardly_vary_do_not_make_a_spike_of_every_rise(
    values: list[float], sign: int, is_spike: bool
) -> None:
    better: Any = "lower" if sign > 0 else "higher"
    trigger = OnSpike("loss", sigmas=6.0, window=5, better=better)
    assert (trigger(line_of(values)) is not None) == is_spike


def test_a_spike_of_what_should_be_high_goes_down() -> None:
    trigger = OnSpike("auc", factor=2.0, better="higher")
    first = (0, {"auc": 0.8})
    assert trigger(LineSoFar([first, (1, {"auc": 0.41})], epoch=2)) is None
    line = LineSoFar([first, (1, {"auc": 0.39})], epoch=2)
    assert trigger(line) == Due(because="auc is 0.39 after 0.8", healthy=1, alarm=True)


@pytest.mark.parametrize("trigger", [OnSpike("loss", factor=2.0), NotFinite(("loss",))])
def test_an_alarm_is_about_the_newest_epoch_of_the_stretch(trigger: Any) -> None:
    values = [1.0, math.nan]
    assert trigger(line_of(values)) is not None
    assert trigger(line_of(values, epoch=3)) is None  # the third was not measured
    assert trigger(line_of(values, since=2)) is None  # it was a try
    assert trigger(LineSoFar()) is None


def test_a_loss_that_is_behind_the_state() -> None:
    trigger = OnSpike("loss", factor=2.0, lag=2)
    assert trigger(line_of([1.0, 1.0, 1.0, 9.0])) == Due(
        because="loss is 9 after 1", healthy=1, alarm=True
    )
    due = trigger(line_of([math.nan]))
    assert due is not None
    assert due.healthy == 0


def test_a_failure_is_an_alarm() -> None:
    due = NotFinite(())(LineSoFar(epoch=4, failure="ValueError: bad"))
    assert due == Due(because="ValueError: bad", healthy=4, alarm=True)


@given(st.integers(1, 6), st.integers(0, 20), st.none() | st.integers(0, 20), st.booleans())
def test_every(n: int, epoch: int, began: int | None, stopped: bool) -> None:
    line = LineSoFar(epoch=epoch, began=began, stopped=stopped)
    assert (Every(n)(line) is not None) == (began is None or stopped or epoch - began >= n)
    assert Every(n).next_look(line) > epoch


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.lists(st.integers(0, 30)))
def test_each_moment_has_one_round(moments: list[int], fired: list[int]) -> None:
    for epoch in range(32):
        last = max((moment for moment in moments if moment <= epoch), default=None)
        due = last is not None and (not fired or max(fired) < last)
        assert (At(moments)(LineSoFar(epoch=epoch, fired=fired)) is not None) == due
        later = [moment for moment in moments if moment > epoch] + [epoch + 1] * due
        look = At(moments).next_look(LineSoFar(epoch=epoch, fired=fired))
        assert look == (min(later) if later else None)


def test_shares_of_the_run() -> None:
    at = At([0.0, 0.3, 0.55])
    looks = [at.next_look(LineSoFar(epoch=e, planned=10, fired=[e])) for e in range(6)]
    assert looks == [3, 3, 3, 5, 5, None]
    with raises(SettingsError):
        at(LineSoFar(epoch=3))


def test_numbers_of_numpy() -> None:
    assert At([np.int64(3)]) == At([3])
    assert Every(np.int64(3)) == Every(3)  # type: ignore[arg-type]


@given(st.sampled_from(TRIGGERS), losses)
def test_triggers_are_pure(trigger: Any, values: list[float]) -> None:
    grown = line_of([])
    for number, value in enumerate(values):
        grown.measured = grown.measured.and_then([(number, {"loss": value, "norm": -value})])
        grown.epoch = number + 1
        anew = line_of(values[: number + 1])
        assert ask(trigger, grown) == ask(trigger, anew) == ask(trigger, grown)


@given(st.sampled_from(TRIGGERS), st.integers(0, 20), st.none() | st.integers(0, 20))
def test_no_trigger_is_due_before_its_next_look(
    trigger: Any, epoch: int, began: int | None
) -> None:
    line = LineSoFar(epoch=epoch, planned=20, began=began, fired=[] if began is None else [began])
    look = next_look(trigger, line)
    if ask(trigger, line) is None:
        for later in range(epoch + 1, 20 if look is None else look):
            line.epoch = later
            assert ask(trigger, line) is None


def test_several_are_one() -> None:
    both = any_of(OnPlateau("loss", patience=1), OnSpike("norm", factor=2.0))
    assert looks_at(both) == ("loss", "norm")
    line = LineSoFar([(0, {"loss": 1.0, "norm": 1.0}), (1, {"loss": 2.0, "norm": 9.0})], epoch=2)
    because = "loss has not improved for 1 epochs; norm is 9 after 1"
    assert both(line) == Due(because=because, healthy=1, alarm=True)
    assert next_look(any_of(At([5]), At([7])), LineSoFar(epoch=5, fired=[5])) == 7
    assert next_look(any_of(At([5]), At([1])), LineSoFar(epoch=5, fired=[5])) is None
    assert any_of(Every(3))(LineSoFar(epoch=2, began=0)) is None


def test_answers_of_ones_own() -> None:
    line = LineSoFar(epoch=3)
    assert ask(lambda line: True, line) == Due()
    assert ask(lambda line: np.bool_(True), line) == Due()
    assert ask(lambda line: None, line) is ask(lambda line: False, line) is None
    assert next_look(lambda line: None, line) == 4
    with raises(ContractError):
        ask(lambda line: "yes", line)  # type: ignore[arg-type, return-value]
    with raises(ContractError):
        ask(lambda line: bool(1 / 0), line)
    with raises(MetricError):
        ask(OnPlateau("los", patience=1), line_of([1.0]))


@pytest.mark.parametrize("look", [3, 2.5, "late"])
def test_a_look_that_is_no_later_epoch(look: Any) -> None:
    class OddTrigger:
        def __call__(self, line: LineSoFar) -> bool:
            return False

        def next_look(self, line: LineSoFar) -> Any:
            return look

    with raises(ContractError):
        next_look(OddTrigger(), LineSoFar(epoch=3))


@pytest.mark.parametrize("error", [ZeroDivisionError("nothing"), MetricError("no metric")])
def test_a_look_that_raises(error: Exception) -> None:
    class Broken:
        def __call__(self, line: LineSoFar) -> bool:
            return False

        def next_look(self, line: LineSoFar) -> Any:
            raise error

    with raises((ContractError, MetricError)):
        next_look(Broken(), LineSoFar(epoch=3))
