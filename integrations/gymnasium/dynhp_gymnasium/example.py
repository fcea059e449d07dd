"""A small ready trainer: REINFORCE with a linear policy on CartPole, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from dynhp import Ordered, Trainer, trainer_from
from dynhp.errors import SettingsError, nearest
from dynhp.loops.parts import Parts, copied, part_of
from dynhp.records import Value
from dynhp_gymnasium.state import state_of

__all__ = ["example", "make"]

EPISODES = 2  # an epoch


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"learning_rate": 0.03, "entropy": 0.01})
    >>> trainer.metrics()["episode_return"] > 0
    True
    """
    return make, {"learning_rate": Ordered(0.01, 0.03, 0.1), "entropy": Ordered(0.0, 0.01, 0.1)}


def make() -> Trainer:
    """An environment that goes on from epoch to epoch, a policy, a baseline, and two generators.

    >>> sorted(make().hyperparameters())
    ['entropy', 'learning_rate']
    """
    env = gymnasium.wrappers.RecordEpisodeStatistics(
        gymnasium.make("CartPole-v1", max_episode_steps=40)
    )
    env.reset(seed=0)
    policy = {"weights": np.zeros((4, 2)), "baseline": np.zeros(1)}
    actions = np.random.default_rng(1)
    in_force: dict[str, Any] = {"learning_rate": 0.03, "entropy": 0.01}
    parts = Parts([state_of(env), copied(policy), part_of(actions)])

    def episode() -> None:
        observation, _ = env.reset()
        gradients, rewards = [], []
        over = False
        while not over:
            chances = _softmax(observation @ policy["weights"])
            action = int(actions.random() < chances[1])
            log = np.log(chances)
            # Of log chances[action] and of the entropy, with respect to the two scores.
            score = np.eye(2)[action] - chances
            spread = -chances * (log - (chances * log).sum())
            gradients.append((np.outer(observation, score), np.outer(observation, spread)))
            observation, reward, ended, cut, _ = env.step(action)
            rewards.append(float(reward))
            over = ended or cut
        returns = np.cumsum(rewards[::-1])[::-1]
        for (towards, spreading), total in zip(gradients, returns, strict=True):
            step = (total - policy["baseline"][0]) / 40 * towards + in_force["entropy"] * spreading
            policy["weights"] += in_force["learning_rate"] * step
        policy["baseline"] += 0.1 * (returns[0] - policy["baseline"])

    def train_k(k: int, hyperparameters: Mapping[str, Value]) -> None:
        for name in hyperparameters:
            if name not in in_force:
                raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, in_force)}")
        in_force.update(hyperparameters)
        for _ in range(k * EPISODES):
            episode()

    def metrics() -> dict[str, float]:
        last = list(env.return_queue)[-EPISODES:]
        return {"episode_return": float(np.mean(last)) if last else 0.0}

    return trainer_from(
        get_state=parts.get_state,
        set_state=parts.set_state,
        train_k=train_k,
        metrics=metrics,
        hyperparameters=lambda: dict(in_force),
        reseed=parts.reseed,
    )


def _softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()
