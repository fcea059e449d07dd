"""Environments in loops: dry runs, what is forgotten, the laws, the package."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import dynhp
import dynhp_gymnasium
from dynhp.errors import NotRepeatable
from dynhp.loops import copied
from dynhp.testing import check_trainer
from dynhp_gymnasium import state_of
from dynhp_gymnasium.example import example, make
from tests.support.messages import raises
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


class LinearPlayer:
    """Random search for a linear policy, in an environment that goes on from epoch to epoch."""

    def __init__(self) -> None:
        base = gymnasium.make("CartPole-v1", max_episode_steps=300)
        self.env = gymnasium.wrappers.RecordEpisodeStatistics(base)
        self.env.reset(seed=0)
        self.policy = {"weights": np.zeros(4)}
        self.noise = np.random.default_rng(0)
        self.played: list[float] = []

    def episode(self, weights: Any) -> float:
        observation, _ = self.env.reset()
        total, over = 0.0, False
        while not over:
            observation, reward, ended, cut, _ = self.env.step(int(observation @ weights > 0))
            total, over = total + float(reward), ended or cut
        return total

    def epoch(self, scale: float) -> float:
        changed = self.policy["weights"] + scale * self.noise.normal(size=4)
        before, after = self.episode(self.policy["weights"]), self.episode(changed)
        if after >= before:
            self.policy["weights"] = changed
        return before + after

    def adapted(self, state: list[Any], **more: Any) -> Any:
        return dynhp.adapt(8, state=state, space={"scale": [0.01, 0.1, 1.0]}, maximize="score",
                           adapt_every=4, try_for=2, **more)  # fmt: skip

    @property
    def rest(self) -> list[Any]:
        return [copied(self.policy), self.noise]


def test_a_dry_run_is_the_plain_loop_and_the_records_of_episodes_are_its_own() -> None:
    plain, dry = LinearPlayer(), LinearPlayer()
    for _ in range(8):
        plain.epoch(0.1)
    for epoch in dry.adapted([state_of(dry.env), *dry.rest], dry_run=True):
        epoch.report(score=dry.epoch(epoch["scale"]))
    assert np.array_equal(plain.policy["weights"], dry.policy["weights"])
    assert list(plain.env.return_queue) == list(dry.env.return_queue)
    assert plain.env.episode_count == dry.env.episode_count == 16
    assert len(dry.env.time_queue) == 16
    assert np.array_equal(plain.env.reset()[0], dry.env.reset()[0])


def test_an_environment_that_was_forgotten_is_named() -> None:
    player = LinearPlayer()
    env = player.env

    def train() -> None:
        for epoch in player.adapted(player.rest):
            epoch.report(score=player.epoch(epoch["scale"]))

    with raises(NotRepeatable):
        train()
    del env


def test_a_plain_copy_alone_would_not_do() -> None:
    """What ``state_of`` is for: clocks differ in each try, and inner references are lost."""
    player = LinearPlayer()
    inner, part = player.env.unwrapped, copied(player.env)
    part.set(part.get())
    assert player.env.unwrapped is not inner

    def train() -> None:
        for epoch in player.adapted([copied(player.env), *player.rest]):
            epoch.report(score=player.epoch(epoch["scale"]))

    with pytest.raises(NotRepeatable):
        train()


def test_the_laws_hold_for_the_example() -> None:
    check_trainer(*example())


def test_the_example_learns() -> None:
    trainer = make()
    trainer.train_k(30, {"learning_rate": 0.1, "entropy": 0.0})
    late = []
    for _ in range(5):
        trainer.train_k(1, {"learning_rate": 0.1, "entropy": 0.0})
        late.append(trainer.metrics()["episode_return"])
    assert np.mean(late) > 30  # of 40; at random it is about 22
    with raises(dynhp.DynhpError):
        trainer.train_k(1, {"entropie": 0.1})


def test_without_gymnasium_the_import_says_what_to_install() -> None:
    line = "dynhp_gymnasium needs gymnasium: pip install 'dynhp[gymnasium]'"
    check_says_what_to_install("dynhp_gymnasium", "gymnasium", line)


def test_importing_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_gymnasium.example") == {"dynhp_gymnasium", "gymnasium"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_gymnasium)
