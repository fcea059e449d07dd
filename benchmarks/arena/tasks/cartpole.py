"""An agent that balances a pole: REINFORCE with a learnt baseline, on many poles at once."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured
from dynhp_gymnasium import state_of

__all__ = ["cartpole"]

POLES, HORIZON, JUDGED, LONGEST, DISCOUNT = 4, 10, 8, 200, 0.98
SEEDS = {"validation": 1_000_003, "test": 2_000_003}


class PoleAgent(nn.Module):
    """Scores of both actions, and how much is still to come."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actions = nn.Linear(32, 2)
        self.value = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of the actions, and the value."""
        hidden = self.body(x)
        return self.actions(hidden), self.value(hidden)[:, 0]


def cartpole(seed: int, *, entropy: float = 0.01) -> LearningTask:
    """Four poles, ten moves of each to learn from at a time; a score of 200 is perfect."""
    agent, env = PoleAgent(), CartPoleVectorEnv(POLES, max_episode_steps=LONGEST)
    env.reset(seed=seed)
    part = state_of(env)
    seen = {"moves": 0, "falls": 0}

    def batch_loss(generator: torch.Generator) -> Tensor:
        return _loss(agent, env, generator, seen, entropy)

    def train_loss(_: float) -> float:
        """The moves between falls, as the loss of a policy says nothing about how good it is."""
        lasted = seen["moves"] / (seen["falls"] + 1)
        seen.update(moves=0, falls=0)
        return -lasted

    def measure(part: str) -> Measured:
        score = _episodes(agent, SEEDS[part] + seed)
        return Measured(score, -score)

    return LearningTask(
        model=agent,
        batch_loss=batch_loss,
        measure=measure,
        optimizer="adam",
        train_loss=train_loss,
        world=(part.get, part.set),
    )


def _loss(
    agent: PoleAgent,
    env: CartPoleVectorEnv,
    generator: torch.Generator,
    seen: dict[str, int],
    entropy: float,
) -> Tensor:
    """The loss of the next moves; each is worth what came after it, more than was expected."""
    logs, values, entropies, rewards, alive, going_on = [], [], [], [], [], []
    for _ in range(HORIZON):
        starts = torch.from_numpy(env.prev_done.copy())  # such a move only begins an episode
        logits, value = agent(_observed(env))
        chances = logits.log_softmax(1)
        if not bool(torch.isfinite(chances).all()):
            raise FloatingPointError("the policy is not finite")
        actions = torch.multinomial(chances.detach().exp(), 1, generator=generator)
        _, reward, fell, cut, _ = env.step(actions[:, 0].numpy())
        seen["moves"] += int((~starts).sum())
        seen["falls"] += int(fell.sum())
        logs.append(chances.gather(1, actions)[:, 0])
        entropies.append(-(chances.exp() * chances).sum(1))
        values.append(value)
        rewards.append(torch.from_numpy(reward))
        alive.append(~starts)
        going_on.append(torch.from_numpy(~(fell | cut)).float())
    with torch.no_grad():
        to_come = agent(_observed(env))[1]
    worth = []
    for reward, goes_on in zip(reversed(rewards), reversed(going_on), strict=True):
        to_come = reward + DISCOUNT * to_come * goes_on
        worth.append(to_come)
    gained = torch.stack(worth[::-1]) - torch.stack(values)
    weight = torch.stack(alive).float() / torch.stack(alive).sum()
    surprise = -torch.stack(logs) * gained.detach() - entropy * torch.stack(entropies)
    return (weight * (surprise + 0.5 * gained.square() / 10)).sum()


def _observed(env: CartPoleVectorEnv) -> Tensor:
    state: Any = env.state
    return torch.from_numpy(state.T.astype("float32"))


def _episodes(agent: PoleAgent, seed: int) -> float:
    """How long the poles stay up on average, by the likelier action."""
    env = CartPoleVectorEnv(JUDGED, max_episode_steps=LONGEST)
    env.reset(seed=seed)
    up = torch.ones(JUDGED, dtype=torch.bool)
    lasted = 0.0
    for _ in range(LONGEST):
        _, _, fell, _, _ = env.step(agent(_observed(env))[0].argmax(1).numpy())
        lasted += float(up.sum())
        up &= ~torch.from_numpy(fell)
        if not bool(up.any()):
            break
    return lasted / JUDGED
