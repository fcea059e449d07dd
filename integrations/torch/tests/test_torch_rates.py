"""The ladder in torch loops: plain optimisers, schedules, Schedule-Free; and the WSD schedule."""

from __future__ import annotations

from typing import Any

import pytest
import schedulefree
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.optim import lr_scheduler

from dynhp import recommended, spent
from dynhp.errors import Hint, SettingsError
from dynhp.loops import Loop
from dynhp.planning import RateFinder, rate_search
from dynhp.tails import wsd
from dynhp_torch import adapt, recommended_lr, schedule_scale, wsd_schedule
from tests.support.messages import raises, warns

STEPS = 700
TRY = 21
"""The steps of a try: three hundredths of the run."""


class Regression:
    """A small noisy regression, trained step by step."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.inputs = torch.randn(128, 6)
        self.target = self.inputs @ torch.randn(6, 1) + 0.1 * torch.randn(128, 1)
        self.model = nn.Linear(6, 1)
        self.generator = torch.Generator().manual_seed(1)

    def step(self, optimizer: Any, schedule: Any = None) -> float:
        batch = torch.randint(128, (16,), generator=self.generator)
        optimizer.zero_grad()
        loss: Any = mse_loss(self.model(self.inputs[batch]), self.target[batch])
        loss.backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
        return loss.item()  # type: ignore[no-any-return]


def trained(
    task: Regression, optimizer: Any, schedule: Any = None, **changes: Any
) -> tuple[Loop, list[tuple[bool, float]]]:
    state = [task.model, optimizer, task.generator]
    loop = adapt(
        steps=STEPS,
        state=state if schedule is None else [*state, schedule],
        **{"policy": recommended_lr(), **changes},
    )
    rates = []
    for step in loop:
        with step:
            loss = task.step(optimizer, schedule)
            rates.append((step.tail, optimizer.param_groups[0]["lr"]))
            step.report(train_loss=loss)
    return loop, rates


@pytest.mark.parametrize("start", [0.0003, 0.01, 0.3, 10.0])
def test_from_any_start_to_the_same_rate(start: float) -> None:
    task = Regression()
    loop, rates = trained(task, torch.optim.SGD(task.model.parameters(), lr=start))
    chosen = rate_search(loop).rate
    assert 0.01 < chosen < 0.1
    main = [rate for tail, rate in rates if not tail]
    assert max(main) == chosen
    assert main[-1] == pytest.approx(chosen * wsd((STEPS - 0.5) / STEPS))
    assert sum(tail for tail, _ in rates) == spent(loop.history).overhead


def test_the_preset_may_be_unpacked() -> None:
    whole, unpacked = Regression(), Regression()
    for task, given in ((whole, {"policy": recommended_lr()}), (unpacked, {**recommended_lr()})):
        sgd = torch.optim.SGD(task.model.parameters(), lr=0.01)
        loop = adapt(steps=STEPS, state=[task.model, sgd, task.generator], **given)
        for step in loop:
            step.report(train_loss=task.step(sgd))
        assert rate_search(loop).start == 0.01
    assert torch.equal(whole.model.weight, unpacked.model.weight)


def test_each_step_of_a_try_has_its_own_rate() -> None:
    task = Regression()
    _, rates = trained(task, torch.optim.SGD(task.model.parameters(), lr=0.1), check="off")
    first = [rate for _, rate in rates[:TRY]]
    shares = [(place + 0.5) / TRY for place in range(TRY)]
    wanted = [0.1 * (at / 0.2 if at < 0.2 else (1 - at) / 0.8) for at in shares]
    assert first == pytest.approx(wanted)


@pytest.mark.filterwarnings("ignore:lr. .*drives the learning rate")
@pytest.mark.parametrize("kind", ["cosine", "linear", "wsd"])
@pytest.mark.parametrize("start", [0.001, 1.0])
def test_the_rate_of_a_schedule(kind: str, start: float) -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=start)
    makers: dict[str, Any] = {
        "cosine": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS),
        "linear": lambda: torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, STEPS),
        "wsd": lambda: wsd_schedule(optimizer, STEPS),
    }
    schedule = makers[kind]()
    loop, rates = trained(task, optimizer, schedule)
    chosen = rate_search(loop).rate
    assert 0.01 < chosen < 0.1
    assert schedule.last_epoch == STEPS  # the tries left no trace in it
    assert rates[-1][1] == pytest.approx(0.0, abs=1e-3 * start)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_the_schedule_of_the_preset_is_that_of_a_scheduler() -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.001)
    loop, ours = trained(task, optimizer)
    other = Regression()
    optimizer = torch.optim.SGD(other.model.parameters(), lr=0.001)
    _, theirs = trained(other, optimizer, wsd_schedule(optimizer, STEPS))
    height = loop.adapter.current["lr"]
    assert [rate for tail, rate in ours if not tail] == [
        height * wsd((step + 0.5) / STEPS) for step in range(STEPS)
    ]
    assert torch.allclose(task.model.weight, other.model.weight, rtol=1e-4)
    assert len(ours) == len(theirs)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_a_scheduler_of_the_state_is_kept_and_the_schedule_of_the_preset_left_out() -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.001)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
    loop, _ = trained(task, optimizer, schedule)
    assert loop.adapter.policy.course is None
    assert 0.01 < rate_search(loop).rate < 0.1


@pytest.mark.filterwarnings("ignore:lr. .*drives the learning rate")
@pytest.mark.parametrize("tensor", [False, True])
def test_a_tail_is_a_schedule_of_its_own(tensor: bool) -> None:
    task, used = Regression(), []
    rate: Any = torch.tensor(0.1) if tensor else 0.1
    optimizer = torch.optim.Adam(task.model.parameters(), lr=rate, foreach=False, capturable=False)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1e-3, 1.0, total_iters=STEPS)
    state = [task.model, optimizer, task.generator, schedule]
    loop = adapt(steps=STEPS, state=state, check="off", policy=recommended_lr())
    optimizer.register_step_pre_hook(lambda *_: used.append(float(optimizer.param_groups[0]["lr"])))
    for step in loop:
        step.report(train_loss=task.step(optimizer, schedule))
    # A warm-up that is longer than the whole try does not hold the tries down.
    assert max(used[:TRY]) == pytest.approx(0.1 * (1 - 4.5 / TRY) / 0.8)
    first = len(used) - STEPS
    assert used[first] == pytest.approx(1e-3 * rate_search(loop).rate)
    assert used[-1] == pytest.approx(rate_search(loop).rate, rel=0.01)
    assert schedule.last_epoch == STEPS


class ByHand:
    """A warm-up that leaves no trace of its height in the groups."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer, self.done = optimizer, 0
        self.rates = [group["lr"] for group in optimizer.param_groups]
        self.step()

    def step(self) -> None:
        self.done += 1
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=False):
            group["lr"] = rate * self.done / 1000

    def state_dict(self) -> dict[str, Any]:
        return {"done": self.done}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.done = state["done"]


HEIGHTS: dict[str, tuple[Any, list[float]]] = {
    "warm-up": (lambda o: lr_scheduler.LinearLR(o, 1e-3, 1.0, STEPS), [0.1, 0.02]),
    "one cycle": (lambda o: lr_scheduler.OneCycleLR(o, [0.3, 0.04], STEPS + 1), [0.3, 0.04]),
    "cyclic": (
        lambda o: lr_scheduler.CyclicLR(o, 1e-5, [0.3, 0.04], cycle_momentum=False),
        [0.3, 0.04],
    ),
    "by hand": (ByHand, [0.1, 0.02]),
}


TENSORS = ("warm-up", "one cycle")  # the others write plain numbers


@pytest.mark.parametrize(
    ("way", "tensor"), [*((way, False) for way in HEIGHTS), *((way, True) for way in TENSORS)]
)
def test_a_tail_on_a_scale_is_a_schedule_of_its_own_for_each_group(way: str, tensor: bool) -> None:
    make, heights = HEIGHTS[way]
    task, used, read = Regression(), [], []
    groups = [
        {"params": [each], "lr": torch.tensor(rate) if tensor else rate}
        for each, rate in zip(task.model.parameters(), (0.1, 0.02), strict=True)
    ]
    optimizer = torch.optim.Adam(groups, foreach=False, capturable=False)
    scale = schedule_scale(optimizer)
    schedule = make(optimizer)
    loop = adapt(
        steps=STEPS,
        state=[task.model, optimizer, task.generator, schedule],
        bind={"scale": scale},
        check="off",
        policy=recommended("lr", name="scale", default=1.0),
    )
    optimizer.register_step_pre_hook(
        lambda *_: used.append([float(group["lr"]) for group in optimizer.param_groups])
    )
    scheduled = []
    for step in loop:
        scheduled.append([float(group["lr"]) for group in optimizer.param_groups])
        if way != "by hand":
            read.append(list(map(float, schedule.get_last_lr())))
        step.report(train_loss=task.step(optimizer, schedule))
    for place, height in enumerate(heights):
        first = [rates[place] for rates in used[:TRY]]
        assert max(first) == pytest.approx(height * (1 - 4.5 / TRY) / 0.8)
    chosen: Any = loop.history[-1].candidate["scale"]
    main = zip(used[-STEPS:], scheduled[-STEPS:], strict=True)
    assert all(rates == pytest.approx([chosen * each for each in own]) for rates, own in main)
    assert read == used[: len(read)]  # in tails too, loggers see what steps are made with


def test_a_scale_is_found_as_its_rate_is() -> None:
    searches = []
    for by_scale in (False, True):
        task = Regression()
        optimizer = torch.optim.SGD(task.model.parameters(), lr=0.1)
        schedule = wsd_schedule(optimizer, STEPS, warm_up=0.3)
        changes: dict[str, Any] = {}
        if by_scale:
            changes["bind"] = {"scale": schedule_scale(optimizer)}
            changes["policy"] = recommended("lr", name="scale", default=1.0)
        loop, _ = trained(task, optimizer, schedule, **changes)
        searches.append([each.score for each in loop.history[0].tries])
    assert searches[0] == pytest.approx(searches[1])


def test_in_a_tail_a_scheduler_says_the_rate_that_steps_are_made_with() -> None:
    task, used, read = Regression(), [], []
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.1)
    schedule = wsd_schedule(optimizer, STEPS, warm_up=0.3)
    state = [task.model, optimizer, task.generator, schedule]
    with warns(Hint):
        loop = adapt(steps=STEPS, state=state, policy=recommended_lr())
    optimizer.register_step_pre_hook(lambda *_: used.append([optimizer.param_groups[0]["lr"]]))
    for step in loop:
        read.append(schedule.get_last_lr())
        step.report(train_loss=task.step(optimizer, schedule))
    assert read == used


def test_heights_of_groups_that_come_later_and_of_other_settings() -> None:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, weight_decay=0.5)
    rate, decay = schedule_scale(optimizer), schedule_scale(optimizer, "weight_decay")
    optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 0.3})
    for scale in (rate, decay):
        scale.set_in_tail(2.0)
    for group in optimizer.param_groups:
        group["lr"] = group["weight_decay"] = 0.25
    assert [rate.basis(0, 0.25), rate.basis(1, 0.25)] == [0.1, 0.25]
    assert decay.basis(0, 0.25) == 0.25  # nobody knows how high its schedule is
    rate.set(2.0)
    assert rate.basis(0, 0.25) == 0.25


@pytest.mark.parametrize("start", [0.003, 0.3])
def test_the_rate_of_schedule_free_stays_because_it_averages_by_itself(start: float) -> None:
    task = Regression()
    optimizer = schedulefree.SGDScheduleFree(task.model.parameters(), lr=start)
    optimizer.train()
    loop, rates = trained(task, optimizer)
    chosen = rate_search(loop).rate
    assert loop.adapter.policy.course is None
    assert 0.01 < chosen < 0.5
    assert rates[-1] == (False, chosen)


def test_the_search_alone_leaves_everything_where_it_was() -> None:
    task, plain = Regression(), Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.01, momentum=0.9)
    finder = RateFinder(
        adapt(
            steps=STEPS,
            state=[task.model, optimizer, task.generator],
            policy=recommended("learning_rate"),
        )
    )
    with raises(RuntimeError):
        finder.result  # noqa: B018
    for step in finder:
        step.report(train_loss=task.step(optimizer))
    assert finder.result.start == 0.01
    assert optimizer.param_groups[0]["lr"] == 0.01
    assert not optimizer.state
    other = torch.optim.SGD(plain.model.parameters(), lr=0.01, momentum=0.9)
    assert [task.step(optimizer) for _ in range(5)] == [plain.step(other) for _ in range(5)]


def test_wsd_refuses() -> None:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    with raises(SettingsError):
        wsd_schedule(optimizer, 0)
    with raises(SettingsError):
        wsd_schedule(optimizer, 10, warm_up=0.8)


def test_a_given_default_comes_before_the_rate_of_the_optimiser() -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=1e-8)
    loop, _ = trained(task, optimizer, policy=recommended_lr(default=0.01))
    assert rate_search(loop).start == 0.01


def test_a_schedule_that_is_over_before_the_run_gets_a_hint() -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.1)
    schedule = wsd_schedule(optimizer, 5)  # as many as epochs, but it is called every batch
    for _ in range(6):
        task.step(optimizer, schedule)
    with warns(Hint):
        task.step(optimizer, schedule)


@pytest.mark.filterwarnings("error")
def test_a_schedule_as_long_as_the_run_gets_none() -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.1)
    schedule = wsd_schedule(optimizer, 6)
    for _ in range(6):
        task.step(optimizer, schedule)


def test_a_schedule_needs_an_optimiser() -> None:
    with raises(SettingsError):
        wsd_schedule(nn.Linear(2, 2), 100)  # type: ignore[arg-type]


def test_a_schedule_of_a_rate_of_0_is_refused_with_the_way_out() -> None:
    task = Regression()
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.0)
    with raises(SettingsError):
        trained(task, optimizer, wsd_schedule(optimizer, STEPS))
