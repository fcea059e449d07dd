"""Loops and trainers of torch: optimisers, schedules, shuffled batches, dropout."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from exact import cost_of, exact, global_generators, hashed, history_of
from names import generator_of, public
from running import Record, Run, noted_warnings, outcome_of, pass_of, seed_globals

from dynhp import Neighbors, Placebo, Racing

CASES: dict[str, dict[str, Any]] = {
    "grid": {},
    "neighbours, checked": {"proposer": Neighbors(), "check": "every"},
    "race": {"selection": Racing(), "try_for": 2},
    "placebo": {"proposer": Placebo(3)},
    "independent, value": {"randomness": "independent", "keep": "value"},
    "dry": {"dry_run": True},
    "best": {"keep_best": True},
    "tail": {"tail": public("annealed")("lr", epochs=2)},
    "back": {
        "when": public("OnPlateau")("loss", patience=1),
        "start_from": "best",
        "max_rounds": 2,
    },
    "rescue": {
        "when": public("OnSpike")("loss", factor=1.5, window=3),
        "start_from": "before",
        "max_rounds": 0,
        "max_rescues": 4,
        "proposer": public("Ladder")(2),
    },
}


def torch_runs() -> Iterator[tuple[str, Run]]:
    """Nothing where torch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    # Imported here and not in the process of each run: optimisers import half of torch.
    import dynhp_torch.example  # noqa: F401

    _parts()
    for case, settings in CASES.items():
        for left_in in (0, 2, 9):
            name = f"loop, {case}" + (f", left in pass {left_in}" if left_in else "")
            yield name, partial(torch_loop, settings, left_in)
    for case, wanted in product(("grid", "neighbours, checked", "race", "dry", "back"), (8, 11)):
        yield f"trainer, {case}, {wanted} epochs", partial(trainer_run, CASES[case], wanted)


def _parts() -> tuple[Any, ...]:
    import torch

    torch.manual_seed(0)
    inputs = torch.randn(24, 3)
    targets = (inputs[:, :1] * 2 - inputs[:, 1:2]).tanh()
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 6), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(6, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, optimizer, inputs, targets


def _train(model: Any, optimizer: Any, inputs: Any, targets: Any) -> float:
    import torch

    model.train()
    order = torch.randperm(len(inputs))
    for batch in order.view(-1, 8):
        optimizer.zero_grad()
        loss = ((model(inputs[batch]) - targets[batch]) ** 2).mean()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        return float(((model(inputs) - targets) ** 2).mean())


def torch_loop(settings: dict[str, Any], left_in: int, folder: Path) -> Record:
    """A loop of ``dynhp_torch.adapt`` over an optimiser's rate."""
    import torch

    from dynhp_torch import adapt

    record: Record = {"passes": []}
    model, optimizer, inputs, targets = _parts()
    seed_globals()
    given: dict[str, Any] = {"minimize": "loss", "try_for": 1, **settings}
    if "when" not in given:
        given["adapt_every"] = 3
    with noted_warnings(record):
        rates = [0.01, 0.1, 0.5]
        loop = adapt(8, state=[model, optimizer], lr=rates, initial={"lr": 0.1}, **given)

        def whole() -> None:
            for number, epoch in enumerate(loop, 1):
                record["passes"].append(pass_of(epoch))
                epoch.report(loss=_train(model, optimizer, inputs, targets))
                if number == left_in:
                    break

        record.update(outcome_of(whole))
        record["globals"] = {**global_generators(), "torch": _torch_generator(torch)}
        record["history"] = history_of(loop.history)
        record["cost"] = cost_of(public("spent")(loop))
        record["generator"] = exact(generator_of(loop))
        record["state"] = exact([model.state_dict(), optimizer.state_dict()])
        if given.get("keep_best") and loop.best is not None:
            loop.restore_best()
            record["best"] = exact([loop.best.epoch, loop.best.score, model.state_dict()])
    return record


def _torch_generator(torch: Any) -> str:
    return hashed(torch.get_rng_state().numpy().tobytes())


def trainer_run(settings: dict[str, Any], epochs: int, folder: Path) -> Record:
    """The ready trainer of the integration, with a schedule, dropout and averaged weights."""
    from dynhp_torch.example import example

    record: Record = {}
    make: Callable[[], Any]
    make, space = example()
    given: dict[str, Any] = {"minimize": "val_loss", "try_for": 1, "space": space, **settings}
    if "when" in given:
        given["when"] = public("OnPlateau")("val_loss", patience=1)
    else:
        given["adapt_every"] = 4
    with noted_warnings(record):
        trainer = make()
        adapter = public("DynamicGridAdapter")(trainer, **given)
        record.update(outcome_of(lambda: adapter.run(epochs)))
        record["history"] = history_of(adapter.history)
        record["cost"] = cost_of(public("spent")(adapter))
        record["generator"] = exact(generator_of(adapter))
        record["measured"] = exact(trainer.metrics())
        probe = copy.copy(dict(adapter.current))
        trainer.train_k(1, probe)
        record["measured after one more"] = exact(trainer.metrics())
    return record


KINDS = {"torch": torch_runs}
