"""Executor equality over random toys, some failing, with one to four workers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Best, DynamicGridAdapter, FullGrid, Neighbors, Racing, lowest
from dynhp.errors import AllTriesFailed, ValueNotUsed
from dynhp.executors import Batched, Processes, Serial
from dynhp.records.plain import history_to_plain
from dynhp.testing import difference
from dynhp.testing.executors.chameleon import Chameleon
from tests.support.toys import Toy, toy_trainers

ByWorkers = Callable[[int], Any]


@pytest.fixture(scope="module")
def executors() -> Iterator[ByWorkers]:
    """Executors by the number of their workers, started once: a state tells them what they are."""
    made: dict[int, Processes] = {}

    def executor(workers: int) -> Any:
        if workers == 0:
            return Batched()
        return made.setdefault(workers, Processes(Chameleon, workers=workers))

    yield executor
    for each in made.values():
        each.close()


def result(toy: Toy, executor: Any, chosen: dict[str, Any]) -> Any:
    make, space = toy
    trainer = Chameleon(make)
    adapter = DynamicGridAdapter(
        trainer, space, criterion=lowest("loss"), executor=executor, **chosen
    )
    try:
        rounds: Any = history_to_plain(adapter.run(7))
    except (AllTriesFailed, ValueNotUsed) as failure:  # momentum does nothing in a first step
        rounds, failed = history_to_plain(adapter.history), str(failure)
    else:
        failed = ""
    for record in [*rounds, *(try_ for round_ in rounds for try_ in round_["tries"])]:
        del record["seconds"]
    return rounds, failed, trainer.get_state()


runs = st.fixed_dictionaries(
    {
        "adapt_every": st.just(3),
        "try_for": st.integers(1, 3),
        "proposer": st.sampled_from([FullGrid(), Neighbors()]),
        "selection": st.sampled_from([Best(), Racing()]),
        "keep": st.sampled_from(["winner", "value"]),
        "randomness": st.sampled_from(["common", "independent"]),
        "seed": st.integers(0, 3),
    }
)


@pytest.mark.many
@settings(max_examples=40)
@given(toy=toy_trainers(), chosen=runs, workers=st.integers(0, 4))
def test_any_executor_gives_the_same_answer(
    executors: ByWorkers, toy: Toy, chosen: dict[str, Any], workers: int
) -> None:
    serial = result(toy, Serial(), chosen)
    assert difference(serial, result(toy, executors(workers), chosen)) is None


def test_the_comparison_can_tell() -> None:
    """Another seed is another answer: equality above is no accident of the toys."""
    from dynhp import Space
    from dynhp.testing import NoisyQuadratic

    chosen = {"adapt_every": 3, "try_for": 1}
    toys: list[Toy] = [
        (functools.partial(NoisyQuadratic, seed=seed), Space({"lr": [0.01, 0.1]}))
        for seed in (0, 1)
    ]
    assert difference(*(result(toy, Serial(), chosen)[0] for toy in toys)) is not None
