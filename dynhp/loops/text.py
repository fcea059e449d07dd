"""The texts of a loop: the short table that ``print`` shows, and what to list in its state."""

from __future__ import annotations

from collections.abc import Iterator

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import shown
from dynhp.proposers.contract import searched_text
from dynhp.records.text import text_table
from dynhp.tails.lengths import tail_epochs, try_epochs

__all__ = ["belongs_to_torch", "better_than_a_copy", "left_in_a_try", "loop_text", "never_used"]
__all__ += ["no_such_name", "not_a_list", "not_reported", "other_parts", "unreported"]
__all__ += ["unreported_end"]
__all__ += ["way_out_for"]


def loop_text(adapter: DynamicGridAdapter, unit: str) -> str:
    """What a loop adapts, how, at what cost, and how far it is; ``unit`` is epochs or steps.

    >>> from dynhp import adapt
    >>> from dynhp.testing import Quadratic
    >>> print(adapt(steps=20, state=[Quadratic()], space={"lr": [0.01, 0.1, 1.0]}, minimize="loss",
    ...             adapt_every=5, try_for=1))
    lr     0.01, 0.1, 1.0
    start  lr=0.1
    every  5 steps, tries of 1
    by     lowest('loss')
    plan   20 steps on the main line + 10 overhead = 30: 1.50 runs, 50% of a complete search of 3
    done   0 of 20 steps
    """
    from dynhp.planning.budget import plan_for  # few loops are printed

    planned = adapter.epochs or 0
    in_force = ", ".join(f"{name}={value}" for name, value in adapter.current.items())
    rows = [
        *((name, _searched(adapter, name)) for name in adapter.space),
        ("now" if adapter.history else "start", in_force),
        _when(adapter, unit),
        ("by", str(adapter.criterion)[:200]),
        ("plan", str(plan_for(adapter, planned))),
        ("done", f"{adapter.epoch} of {planned} {unit}"),
    ]
    return text_table(rows)


def _when(adapter: DynamicGridAdapter, unit: str) -> tuple[str, str]:
    tail, epochs = tail_epochs(adapter), try_epochs(adapter)
    tries = f"tries of {epochs}" + (f" and a tail of {tail}" if tail else "")
    if adapter.adapt_every is not None:
        return "every", f"{adapter.adapt_every} {unit}, {tries}"
    return "when", f"{str(adapter.when)[:200]}, {tries} from {adapter.start_from}"


def _searched(adapter: DynamicGridAdapter, name: str) -> str:
    """What is tried of a hyperparameter: in the proposer's words, or the values of the grid."""
    axis = adapter.space[name]
    words = searched_text(adapter.proposer, axis, adapter.current[name])
    return _shown(axis.grid()) if words is None else words


def _shown(values: tuple[object, ...]) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts if len(texts) <= 8 else [*texts[:4], "...", *texts[-3:]])[:200]


def left_in_a_try(unit: str, epoch: int) -> str:
    """What the author of a loop must know who left it in a try."""
    return (
        f"the loop was left in a try, so the state is back where the round began, after {epoch} "
        f"{unit} of the main line. What stops early belongs under `if epoch.main:`"
    )


def belongs_to_torch(thing: object) -> str:
    """Why a torch object is not taken by the core."""
    return (
        f"state: {type(thing).__name__} is a torch object, and torch's generators belong to the "
        "state too; use adapt of dynhp_torch (pip install 'dynhp[torch]')"
    )


def better_than_a_copy(env: object) -> str:
    """What knows an environment of gymnasium better than a plain copy does."""
    return (
        f"state: {type(env).__name__} is an environment of gymnasium; state_of(env) of "
        "dynhp_gymnasium (pip install 'dynhp[gymnasium]') puts its layers back in place and leaves "
        "clocks alone, which a plain copy does not"
    )


def not_reported(trigger: object, epoch: object, silent: int, unit: str) -> str:
    """Why a main line that is watched must be reported."""
    watched = f"the main line is watched ({shown(trigger)}), but "
    if unit == "epochs":
        return (
            f"{watched}{shown(epoch)} was not reported; call epoch.report(...) in every pass "
            "through the body, in tries and on the main line"
        )
    return (
        f"{watched}{silent} {unit} in a row up to {epoch} were not reported, more than a try has; "
        "report on the main line too whenever you have measured, or make try_for longer"
    )


def no_such_name(name: object) -> str:
    """What a loop is asked for instead of an attribute, or of an ``[item]``, that it has not."""
    return (
        f"a loop has no {shown(name)}; iterate over it, and ask each epoch for its values and to "
        "report: for epoch in loop: ... epoch['name'] ... epoch.report(val_loss=...)"
    )


def never_used(name: str) -> str:
    """What the author of a loop must know whose body uses a hyperparameter nowhere."""
    name = shown(name)
    return (
        f"every hyperparameter must be used, but {name} was neither bound nor read in a whole try, "
        f"so all its values would train the same; give bind={{{name}: attribute(...)}}, or read "
        f"epoch[{name}] in the body"
    )


def unreported(start: int, steps: int) -> str:
    """What the author of a loop over steps must know in whose try nothing was measured."""
    return (
        f"every try needs a report (with Racing: every stage of it), but {_passed(start, steps)} "
        "passed without one; measure more often, or make try_for (and every=... of Racing) longer"
    )


def unreported_end(start: int, steps: int) -> str:
    """The same, where the run was over before it could be measured."""
    return (
        f"{_passed(start, steps)} hold no report, so the tries of the last round cannot be "
        "compared, and the value in force stays; report the last step too, or choose when rounds "
        "begin so that the last one has tries of full length"
    )


def _passed(start: int, steps: int) -> str:
    return f"step {start}" if steps == 1 else f"steps {start} to {start + steps - 1}"


def not_a_list(state: object) -> str:
    """Why this cannot be a state."""
    return (
        f"state must be a list of objects, got {shown(state)}; write state=[model, optimizer] with "
        'the objects themselves, or state="auto"'
    )


def other_parts(count: int, state: object) -> str:
    """Why this is not a state of a loop with so many parts."""
    parts = f"{len(state)} parts" if isinstance(state, tuple) else type(state).__name__
    return (
        f"a state of this loop has {count} parts, got {parts}; give adapt the same state=, bind= "
        "and keep_best= as in the run that saved it"
    )


def way_out_for(thing: object) -> str:
    """What to list in a state in place of a thing without one."""
    if thing is None:
        return "leave it out"
    if isinstance(thing, int | float):
        return "a number belongs to the state as a Counter of dynhp"
    if isinstance(thing, dict):
        return "give the object itself, not its state_dict(), or copied(thing) of dynhp.loops"
    if isinstance(thing, list | tuple):
        return "list its items one by one, or give copied(thing) of dynhp.loops for it"
    if isinstance(thing, Iterator):
        return "an iterator cannot be put back: give what it is made of, such as the model"
    return "give Part(get=..., set=...) or copied(thing) of dynhp.loops for it"
