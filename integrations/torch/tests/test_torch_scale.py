"""A scale on a schedule: what others read of it, what is left of it, and two at once."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from dynhp.errors import Hint, SettingsError, ValueNotInForce
from dynhp_torch import adapt, remove_scale, schedule_scale
from dynhp_torch.settings.reading import show_scale, true_rates
from dynhp_torch.settings.scale import scales_on
from tests.support.messages import raises

SCHEDULERS: dict[str, Any] = {
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 20),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=9),
    "sequence": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, 0.5, 2), lr_scheduler.ExponentialLR(o, 0.5)], [2]
    ),
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0),
}


class Trained:
    """A weight, its optimiser and a schedule, and what the steps were made with."""

    def __init__(self, schedule: str = "cosine", groups: int = 1) -> None:
        self.weights = [nn.Parameter(torch.ones(1)) for _ in range(groups)]
        named = [{"params": [each], "name": f"g{i}"} for i, each in enumerate(self.weights)]
        self.optimizer = torch.optim.SGD(named, lr=0.1)
        self.scheduler = SCHEDULERS[schedule](self.optimizer)
        self.stepped: list[Any] = []

    @property
    def state(self) -> list[Any]:
        return [*self.weights, self.optimizer, self.scheduler]

    def step(self) -> float:
        for weight in self.weights:
            weight.grad = weight.detach().clone()
        during = lambda o, *_: self.stepped.append(o.param_groups[0]["lr"])  # noqa: E731
        hook = self.optimizer.register_step_pre_hook(during)
        self.optimizer.step()
        hook.remove()
        return float(sum(weight.item() ** 2 for weight in self.weights))

    def run(self, **options: Any) -> Any:
        """Six epochs, in each of which the rate is read as loggers do it, before the step."""
        settings = {"lr": [0.03, 0.1, 0.3], "adapt_every": 3, "try_for": 1, **options}
        loop = adapt(6, state=self.state, minimize="loss", **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Hint)
            for epoch in loop:
                read = self.scheduler.get_last_lr()
                loss = self.step()
                assert read == [self.stepped[-1]]
                if isinstance(self.scheduler, lr_scheduler.ReduceLROnPlateau):
                    self.scheduler.step(loss)
                else:
                    self.scheduler.step()
                epoch.report(loss=loss)
        return loop


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("schedule", SCHEDULERS)
def test_a_scheduler_says_the_rates_that_steps_are_made_with(schedule: str) -> None:
    trained = Trained(schedule)
    loop = trained.run()
    assert loop.history[-1].candidate["lr"] != 0.1
    scheduler, plain = trained.scheduler, trained.optimizer.param_groups[0]["lr"]
    assert scheduler.get_last_lr() == [plain * scales_on(trained.optimizer)[0].factor]
    assert plain not in scheduler.get_last_lr()
    assert scheduler.state_dict()["_last_lr"] == [plain]  # what is saved is the schedule's own
    for other in (copy.deepcopy(scheduler), pickle.loads(pickle.dumps(scheduler))):
        assert type(other) is type(SCHEDULERS[schedule](Trained().optimizer))
    remove_scale(trained.optimizer)
    assert scheduler.get_last_lr() == [plain]
    assert type(scheduler) is type(SCHEDULERS[schedule](Trained().optimizer))


def test_a_scale_by_hand_is_shown_too_and_only_on_its_groups() -> None:
    trained = Trained(groups=2)
    scale = schedule_scale(trained.optimizer, groups=["g1"])
    adapt(
        4, state=trained.state, space={"scale": [1.0, 3.0]}, bind={"scale": scale},
        minimize="loss", adapt_every=2, try_for=1,
    )  # fmt: skip
    scale.set(3.0)
    assert trained.scheduler.get_last_lr() == [0.1, 0.1 * 3.0]
    with true_rates([trained.optimizer]):
        assert [group["lr"] for group in trained.optimizer.param_groups] == [0.1, 0.1 * 3.0]
    assert [group["lr"] for group in trained.optimizer.param_groups] == [0.1, 0.1]


def test_what_cannot_say_a_rate_is_left_alone() -> None:
    class MuteScheduler:
        """Steps, and says nothing."""

        def step(self) -> None: ...

    class SlottedScheduler:
        """Its memory is laid out by its class."""

        __slots__ = ("rates",)

        def get_last_lr(self) -> list[float]:
            return [0.1]

    scale = schedule_scale(Trained().optimizer)
    assert not show_scale(scale, MuteScheduler())
    slotted = SlottedScheduler()
    assert not show_scale(scale, slotted)
    assert slotted.get_last_lr() == [0.1]


def hints_of(trained: Trained) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            trained.step()
    return [str(each.message) for each in caught if issubclass(each.category, Hint)]


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_who_trains_on_after_the_run_keeps_the_value_and_hears_of_it_once() -> None:
    trained = Trained()
    trained.run()
    (hint,) = hints_of(trained)
    assert (
        "goes on with 2.9999999999999996 times the schedule" in hint or "goes on with 3.0" in hint
    )
    assert "dynhp_torch.remove_scale(optimizer)" in hint
    assert trained.stepped[-1] == pytest.approx(3 * trained.optimizer.param_groups[0]["lr"])
    assert hints_of(trained) == []


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_nothing_is_said_where_nothing_is_scaled() -> None:
    dry = Trained()
    dry.run(dry_run=True)
    assert hints_of(dry) == []
    removed = Trained()
    removed.run()
    remove_scale(removed.optimizer)
    assert hints_of(removed) == []
    assert removed.stepped[-1] == removed.optimizer.param_groups[0]["lr"]
    again = Trained()
    again.run()
    loop = again.run()  # goes on from the value that the first run left, and scales once
    assert loop.history[0].previous["lr"] == pytest.approx(0.3)
    assert len(scales_on(again.optimizer)) == 1
    with raises(SettingsError):
        remove_scale("adam")  # type: ignore[arg-type]


def test_a_run_that_is_left_in_the_middle_is_over_too() -> None:
    trained = Trained()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epoch in adapt(
            6, state=trained.state, lr=[0.03, 0.1, 0.3], minimize="loss", adapt_every=3, try_for=1
        ):
            epoch.report(loss=trained.step())
            trained.scheduler.step()
            if epoch == 1:
                break
    assert len(hints_of(trained)) == 1


@pytest.mark.parametrize(("first", "second"), [(None, ["g1"]), (["g0", 1], [1, 2]), ([2], None)])
def test_two_scales_on_overlapping_groups_are_refused(first: Any, second: Any) -> None:
    trained = Trained(groups=3)
    scale = schedule_scale(trained.optimizer, groups=first)
    scale.set(2.0)
    with raises(SettingsError):
        schedule_scale(trained.optimizer, groups=second)
    assert scales_on(trained.optimizer) == [scale]  # and the first is whole
    assert scale.get() == 2.0
    schedule_scale(trained.optimizer, "momentum")  # another setting is another scale
    remove_scale(trained.optimizer)
    schedule_scale(trained.optimizer, groups=second).set(3.0)
    with raises(ValueNotInForce):
        scale.get()


def test_a_scale_that_is_over_and_changes_nothing_makes_room() -> None:
    trained = Trained(groups=2)
    whole = schedule_scale(trained.optimizer)
    whole.leave()
    part = schedule_scale(trained.optimizer, groups=["g0"])
    assert scales_on(trained.optimizer) == [part]
    same = schedule_scale(trained.optimizer, groups=[0])  # the same group by its place
    assert scales_on(trained.optimizer) == [same]
    other = schedule_scale(trained.optimizer, groups=["g1"])
    assert scales_on(trained.optimizer) == [same, other]
