"""Fits that are adapted, on every backend; ``test_keras_backends.py`` runs it once for each."""

from __future__ import annotations

import contextlib
import gc
import weakref
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras_shared import (
    TIES,
    TORCH,
    KerasDiary,
    adapt,
    bits,
    callbacks,
    fit,
    make,
    recorders,
    seen,
    torch_is_enough,
)

from dynhp import Placebo
from dynhp.errors import SettingsError
from dynhp.testing import trainer_checks
from dynhp_keras import Adapt, variable
from dynhp_keras.example import example
from tests.support.messages import raises


@pytest.mark.parametrize("how", [{"dry_run": True}, TIES], ids=["dry run", "by ties"])
@pytest.mark.parametrize(("adapt_every", "try_for"), [(3, 2), (2, 2)] if TORCH else [(3, 2)])
def test_a_dry_run_is_bit_identical_to_fit_without_us(
    tmp_path: Path, plain_run: tuple[Any, Any], adapt_every: int, try_for: int, how: Any
) -> None:
    wanted, folder = plain_run
    (tmp_path / "ours").mkdir()
    model, listed = make(), recorders(tmp_path / "ours")
    ours = adapt(adapt_every=adapt_every, try_for=try_for, **how)
    history = fit(model, *listed[:2], ours, *listed[2:])
    assert len(ours.history.rounds[0].tries) == 3
    assert [history.epoch, history.history, bits(model)] == wanted
    assert seen(listed, tmp_path / "ours") == folder


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """How a fit without us ends, and what its callbacks saw."""
    folder = tmp_path_factory.mktemp("plain")
    model, listed = make(), recorders(folder)
    history = fit(model, *listed)
    return [history.epoch, history.history, bits(model)], seen(listed, folder)


@torch_is_enough
def test_the_chosen_rate_is_in_force_and_the_history_has_no_gap() -> None:
    model, diary, ours = make(), KerasDiary(), adapt()
    history = fit(model, ours, diary, initial_epoch=2, epochs=8)
    assert history.epoch == list(range(2, 8))
    assert [line[1] for line in diary.lines if line[0] == "epoch"] == list(range(2, 8))
    assert [len(values) for values in history.history.values()] == [6] * 4
    chosen = [round_.candidate["learning_rate"] for round_ in ours.history]
    assert chosen[0] == 0.03
    assert float(model.optimizer.learning_rate) == pytest.approx(chosen[-1])
    kept = ours.history.rounds[0].tries
    assert history.history["val_loss"][0] == min(each.series[0]["val_loss"] for each in kept)
    assert int(model.optimizer.iterations) == 6 * 2


@torch_is_enough
def test_early_stopping_in_the_middle_of_a_kept_try_stops_there() -> None:
    def stopping() -> Any:
        # Never better by so much, so that it stops after the third epoch.
        return callbacks.EarlyStopping("val_loss", patience=2, min_delta=100)

    plain = make()
    assert fit(plain, stopping()).epoch == [0, 1, 2]
    wanted = bits(plain)
    model, ours = make(), adapt(adapt_every=5, try_for=4, **TIES)
    assert fit(model, ours, stopping()).epoch == [0, 1, 2]
    assert bits(model) == wanted
    assert model.stop_training


@torch_is_enough
def test_a_callback_that_takes_part_acts_in_tries_and_is_put_back() -> None:
    def lowering() -> Any:
        return callbacks.ReduceLROnPlateau("val_loss", patience=1, min_delta=100, factor=0.5)

    strengths = {"strength": [0.0, 0.2, 0.5]}

    def strength(model: Any) -> Any:
        return {"strength": variable(model.layers[3].strength)}

    plain = make()
    fit(plain, lowering())
    wanted = bits(plain)
    model = make()
    ours = adapt(strengths, bind=strength(model), **TIES, try_for=2, initial={"strength": 0.0})
    fit(model, lowering(), ours)
    assert bits(model) == wanted
    assert float(model.optimizer.learning_rate) < 0.01 / 8
    with raises(SettingsError):
        fit(make(), lowering(), adapt())


@torch_is_enough
@pytest.mark.parametrize("how", [{"dry_run": True}, TIES], ids=["dry run", "by ties"])
def test_what_a_callback_adds_to_the_logs_is_seen_by_those_after_it_only(
    how: Any, tmp_path: Path
) -> None:
    def lines(name: str, *ours: Any) -> Any:
        rate = callbacks.ReduceLROnPlateau("val_loss", patience=1, min_delta=100, factor=0.5)
        first, last = KerasDiary(), KerasDiary()
        log = callbacks.CSVLogger(str(tmp_path / name))
        history = fit(make(), first, log, rate, last, *ours).history
        return first.lines, last.lines, history, (tmp_path / name).read_text()

    plain = lines("plain")
    assert "learning_rate" in plain[2]
    assert "learning_rate" not in plain[3]
    betas = {"beta_1": [0.9, 0.5]}  # 0.9 is in force
    assert lines("adapted", adapt(betas, try_for=2, **how)) == plain


def test_a_fit_that_was_killed_goes_on_to_the_bit(tmp_path: Path) -> None:
    class KilledAtFive(callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch == 5:
                raise RuntimeError("killed")

    whole, ours = make(), adapt()
    wanted = fit(whole, ours, epochs=8)
    bits_wanted = bits(whole)
    with pytest.raises(RuntimeError, match="killed"):
        fit(make(), adapt(checkpoint=tmp_path / "fit.zip"), KilledAtFive(), epochs=8)
    model, again = make(), adapt(checkpoint=tmp_path / "fit.zip")
    np.random.rand(7)  # another process has other generators
    history = fit(model, again, epochs=8)
    assert again.history == ours.history
    assert bits(model) == bits_wanted
    assert history.epoch == [5, 6, 7]
    assert history.history["val_loss"] == wanted.history["val_loss"][5:]
    done, complete = make(), adapt(checkpoint=tmp_path / "fit.zip")
    assert fit(done, complete, epochs=8).epoch == []
    assert bits(done) == bits_wanted
    with raises(SettingsError):
        adapt(checkpoint=tmp_path / "other.zip", try_for=3)


@torch_is_enough
def test_a_second_fit_has_rounds_of_its_own_and_begins_with_the_value_in_force(
    tmp_path: Path,
) -> None:
    model, ours = make(), adapt(checkpoint=tmp_path / "fit.zip")
    fit(model, ours, epochs=4)
    last = ours.history[-1].candidate["learning_rate"]
    assert last != 0.01
    more = adapt()
    assert fit(model, more, epochs=8, initial_epoch=4).epoch == [4, 5, 6, 7]
    assert more.history[0].previous["learning_rate"] == last
    assert (more.history[0].index, more.history[0].start) == (0, 0)  # as a History: of this fit
    again = fit(model, more, epochs=3)
    assert again.epoch == [0, 1, 2]
    assert more.history.epochs == 3
    with raises(SettingsError):
        fit(model, ours, epochs=8, initial_epoch=4)


class Interrupts(callbacks.Callback):  # type: ignore[misc]
    """Ends the fit in its second pass, which is the second try."""

    seen = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen += 1
        if self.seen == 4:
            raise KeyboardInterrupt


def interrupted(model: Any) -> Adapt:
    stops = Interrupts()
    ours = adapt(acting=[stops])
    with contextlib.suppress(KeyboardInterrupt):
        fit(model, stops, ours)
    return ours


def test_an_interrupted_fit_leaves_the_model_alone_until_it_is_closed() -> None:
    model = make()
    before = bits(model)[0][0]
    ours = interrupted(model)
    left = bits(model)[0]
    gone = weakref.ref(ours)
    del ours
    gc.collect()
    assert gone() is None
    assert bits(model)[0] == left
    assert model._initial_epoch is None
    model = make()
    interrupted(model).close()
    assert bits(model)[0][0] == before
    assert fit(model, epochs=2).epoch == [0, 1]  # without us


@torch_is_enough
def test_an_interrupted_fit_that_is_cleared_away_leaves_the_generators_alone() -> None:
    ours = interrupted(make())
    keras.utils.set_random_seed(7)
    wanted = np.random.get_state(legacy=False)["state"]["key"].tolist()
    del ours
    gc.collect()
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == wanted


def test_a_new_rate_compiles_nothing() -> None:
    class CountsTraces(keras.Sequential):  # type: ignore[misc]
        traced = 0

        def train_step(self, *args: Any) -> Any:
            CountsTraces.traced += 1
            return super().train_step(*args)

    keras.utils.set_random_seed(0)
    model = CountsTraces([keras.Input((4,)), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    fit(model, adapt(), epochs=3)
    passes = 3 + 2 + 2  # the main line, two other tries, two repeats
    assert CountsTraces.traced == (passes * 2 if TORCH else 1)


@torch_is_enough
def test_the_best_epoch_can_be_brought_back() -> None:
    model, ours = make(), adapt(keep_best=True)
    history = fit(model, ours)
    assert ours.loop is not None
    best = ours.loop.best
    assert best is not None
    assert best.metrics["val_loss"] == min(history.history["val_loss"])
    model.optimizer.learning_rate = 3.0
    ours.loop.restore_best()
    assert float(model.optimizer.learning_rate) < 1.0


@torch_is_enough
def test_a_placebo_reseeds_the_layers() -> None:
    ours = adapt(proposer=Placebo(3))
    fit(make(), ours, epochs=3)
    assert len({each.series[0]["loss"] for each in ours.history.rounds[0].tries}) == 3


# All laws on any backend: dynhp check. JAX compiles each of the trainers that a law makes.
@pytest.mark.parametrize("law", ["restore", "order"] if TORCH else ["restore"])
def test_the_example_obeys_the_laws(law: str) -> None:
    make, space = example()
    values = space["learning_rate"].values
    two = {"learning_rate": [values[0], values[-1]]}
    dict(trainer_checks(make, two, epochs=1, another_process=False))[law]()


@torch_is_enough
def test_buffers_of_torch_inside_a_sequential_are_part_of_the_state() -> None:
    torch = __import__("torch")

    def wrapped() -> Any:
        torch.manual_seed(0)
        norm = keras.layers.TorchModuleWrapper(torch.nn.BatchNorm1d(4))
        model = keras.Sequential([keras.Input((4,)), norm, keras.layers.Dense(2)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        keras.utils.set_random_seed(0)
        return model, norm.module

    plain, norm = wrapped()
    kernel = plain.get_weights()
    fit(plain)
    model, same = wrapped()
    model.set_weights(kernel)
    fit(model, adapt(dry_run=True))
    assert all(map(torch.equal, norm.buffers(), same.buffers()))
