"""What comes again and again: found by two repeats; and runs in which nothing happens any more."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp.errors import NotRepeatable
from dynhp.testing import NoisyQuadratic
from tests.adapter.test_selfcheck import adapter_of


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("tries", [1, 2, 3, 4])
@pytest.mark.parametrize("try_for", [1, 2])
@pytest.mark.parametrize("dry_run", [False, True])
def test_what_comes_again_is_found_unless_it_comes_again_with_every_try(
    period: int, tries: int, try_for: int, dry_run: bool
) -> None:
    class Takes(NoisyQuadratic):
        """Shards of data in turn; whose turn it is, is not in the state."""

        def __init__(self) -> None:
            super().__init__()
            self.turn = 0

        def train_k(self, k: int, hyperparameters: Any) -> None:
            for _ in range(k):
                self.turn = (self.turn + 1) % period
                super().train_k(1, hyperparameters)
                self.weights = self.weights + 1e-3 * self.turn

    values = [0.1, 0.01, 0.02, 0.05][:tries]
    adapter = adapter_of(Takes(), space={"lr": values}, try_for=try_for, dry_run=dry_run)
    if try_for % period == 0:
        adapter.run(8)
    else:
        # The numbers in its text are others in each of 72 cases.
        with pytest.raises(NotRepeatable, match="turn"):
            adapter.run(8)


def test_a_run_that_has_come_to_its_end_goes_on() -> None:
    class Ends(NoisyQuadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            self.values = dict(hyperparameters)
            if self.steps < 6:
                super().train_k(k, hyperparameters)

        def hyperparameters(self) -> Any:
            return getattr(self, "values", {})

    assert adapter_of(Ends(), check="every").run(20).epochs == 20
