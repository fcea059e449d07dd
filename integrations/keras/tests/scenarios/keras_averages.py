"""Averaged weights as the model of a fit; ``test_keras_backends.py`` runs it for each backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras_shared import TIES, TORCH, X, Y, adapt, bits, callbacks, fit, make, torch_is_enough

from dynhp import recommended
from dynhp.errors import LoopError, SettingsError
from dynhp.planning import rate_search
from dynhp.tails.averaging import averaged
from dynhp_keras import Adapt
from dynhp_keras.averaging import FitAverage
from tests.support.messages import raises

AVERAGED: dict[str, Any] = {"course": averaged(0.3), "adapt_every": 3, "try_for": 1}
layers = keras.layers


def weights(model: Any) -> list[bytes]:
    return [each.tobytes() for each in model.get_weights()]


class MeanByHand(callbacks.Callback):
    """The same average, kept by hand on a fit without us, and what it would have scored."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.taken = 0
        self.after = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        getattr(self.model, "jax_state_sync", int)()
        newest = [np.array(each) for each in self.model.get_weights()]
        self.taken += 1
        weight = min(1.0, 1 / (self.share * self.taken))
        old = newest if self.taken == 1 else self.means
        self.means = [a + (b - a) * weight for a, b in zip(old, newest, strict=True)]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.after.append(self.means)

    def scores(self) -> list[float]:
        losses = []
        for means in self.after:
            self.model.set_weights(means)
            losses.append(self.model.evaluate(X[32:], Y[32:], verbose=0)[0])
        return losses


def plain_model() -> Any:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(4, "tanh"), layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"])
    return model


def test_the_average_of_all_batches_is_scored_and_delivered() -> None:
    by_hand, plain = MeanByHand(0.3), plain_model()
    wanted = fit(plain, by_hand).history
    model, ours = plain_model(), adapt({"learning_rate": [0.1, 0.5]}, **AVERAGED, dry_run=True)
    seen = fit(model, ours).history
    assert seen["loss"] == wanted["loss"], "what is trained is not what is averaged"
    assert seen["val_loss"] == pytest.approx(by_hand.scores(), rel=1e-4)
    assert seen["val_loss"] != pytest.approx(wanted["val_loss"], rel=1e-4)
    for got, expected in zip(model.get_weights(), by_hand.means, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
    assert model.evaluate(X[32:], Y[32:], verbose=0)[0] == pytest.approx(seen["val_loss"][-1])


def test_averages_leave_no_trace_in_what_is_trained() -> None:
    """With a norm that is measured again, dropout, and seeds: neither draws, nor is changed."""

    def fitted(*ours: Adapt) -> tuple[Any, ...]:
        model = make()
        history = fit(model, *ours).history
        seeds = [np.asarray(each.numpy()) for each in model.variables if "seed" in each.path]
        assert seeds
        return history, bits(model)[1:], [each.tolist() for each in seeds]

    plain, ours = fitted(), fitted(adapt(**AVERAGED, dry_run=True))
    assert ours[0]["loss"] == plain[0]["loss"]
    assert ours[0]["val_loss"] != plain[0]["val_loss"]
    assert ours[1:] == plain[1:]


@torch_is_enough
def test_a_try_that_is_kept_is_as_a_dry_run() -> None:
    dry = make()
    wanted = fit(dry, adapt(**AVERAGED, dry_run=True)).history
    bits_wanted = bits(dry)
    tied = make()
    assert fit(tied, adapt(**AVERAGED, **TIES)).history == wanted
    assert bits(tied) == bits_wanted


def test_a_fit_that_was_killed_goes_on_to_the_same_average(tmp_path: Path) -> None:
    class KilledInEpoch4(callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch == 4:
                raise RuntimeError("killed")

    whole = make()
    wanted = fit(whole, adapt(**AVERAGED), epochs=6).history
    file = tmp_path / "fit.zip"
    with pytest.raises(RuntimeError, match="killed"):
        fit(make(), adapt(**AVERAGED, checkpoint=file), KilledInEpoch4(), epochs=6)
    model = make()
    history = fit(model, adapt(**AVERAGED, checkpoint=file), epochs=6)
    assert history.history["val_loss"] == wanted["val_loss"][history.epoch[0] :]
    assert weights(model) == weights(whole)


def normed(*, frozen: bool = False) -> Any:
    keras.utils.set_random_seed(0)
    norm = layers.BatchNormalization(momentum=0.9)
    model = keras.Sequential([keras.Input((4,)), norm, layers.Dense(2)])
    norm.trainable = not frozen
    model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(True))
    return model


@pytest.mark.parametrize("frozen", [False, True] if TORCH else [False])
def test_statistics_are_measured_again_on_the_training_data(frozen: bool) -> None:
    model = normed(frozen=frozen)
    fit(model, adapt(**AVERAGED), shuffle=False)
    norm = model.layers[0]
    got = [keras.ops.convert_to_numpy(each) for each in (norm.moving_mean, norm.moving_variance)]
    parts = [X[:16], X[16:32]]
    wanted = [
        np.mean([part.mean(0) for part in parts], 0), np.mean([part.var(0) for part in parts], 0)
    ]  # fmt: skip
    for here, there in zip(got, [np.zeros(4), np.ones(4)] if frozen else wanted, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-5)
    assert norm.momentum == 0.9


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        rows = np.random.permutation(32)[:8]  # it draws from a global generator
        return X[rows], Y[rows]


@torch_is_enough
@pytest.mark.parametrize("kind", ["loader", "dataset"])
def test_other_data_are_measured_without_a_trace_too(kind: str) -> None:
    torch = __import__("torch")

    def fitted(*ours: Adapt) -> Any:
        model, data = make(), Batches()
        if kind == "loader":
            rows = torch.utils.data.TensorDataset(torch.tensor(X[:32]), torch.tensor(Y[:32]))
            order = torch.Generator().manual_seed(3)
            data = torch.utils.data.DataLoader(rows, batch_size=8, shuffle=True, generator=order)
        history = fit(model, *ours, data=(data,), batch_size=None, shuffle=False).history
        return history["loss"], bits(model)[1:]

    assert fitted(adapt(**AVERAGED, dry_run=True)) == fitted()


class Looking(callbacks.Callback):
    """What the model looks like at the end of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seen.append(weights(self.model))


@torch_is_enough
@pytest.mark.parametrize("how", [{"dry_run": True}, TIES])
def test_callbacks_see_the_model_that_was_scored_and_acting_ones_that_is_trained(how: Any) -> None:
    plain, raw = make(), Looking()
    fit(plain, raw)
    first, acting, last = Looking(), Looking(), Looking()
    settings = {**AVERAGED, "try_for": 2, **how}
    model, ours = make(), adapt(**settings, acting=[acting])
    fit(model, first, acting, ours, last)
    assert first.seen == last.seen
    assert last.seen[-1] == weights(model)
    assert raw.seen[-1] == acting.seen[-1] != last.seen[-1]


@torch_is_enough
def test_early_stopping_gives_the_best_average_back() -> None:
    stopping = callbacks.EarlyStopping("val_loss", patience=1, restore_best_weights=True)
    model, looking = make(keras.optimizers.SGD(3.0)), Looking()
    rates = {"learning_rate": [1.0, 3.0]}
    history = fit(model, adapt(rates, **AVERAGED, dry_run=True), stopping, looking, epochs=20)
    best = int(np.argmin(history.history["val_loss"]))
    assert best < len(looking.seen) - 1
    assert weights(model) == looking.seen[best]


@torch_is_enough
def test_the_best_epoch_can_be_delivered() -> None:
    model, looking = make(keras.optimizers.SGD(3.0)), Looking()
    ours = adapt({"learning_rate": [1.0, 3.0]}, **AVERAGED, dry_run=True, keep_best=True)
    history = fit(model, ours, looking, epochs=9)
    ours.deliver()
    assert weights(model) == looking.seen[int(np.argmin(history.history["val_loss"]))]
    with raises(LoopError):
        adapt().deliver()


class InterruptsScore(callbacks.Callback):
    """Interrupts the first validation, and notes the weights before it, and when fit goes on."""

    done = False

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.done and not self.before:
            self.before.append(weights(self.model))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self.done:
            self.after = weights(self.model)

    def on_test_begin(self, logs: Any = None) -> None:
        if not self.done:
            type(self).done, type(self).before = True, []
            raise KeyboardInterrupt


@torch_is_enough
@pytest.mark.parametrize("close", [True, False])
def test_a_fit_that_was_interrupted_while_it_was_scored_has_its_own_weights(close: bool) -> None:
    InterruptsScore.done = False
    interrupts = InterruptsScore()
    model, ours = make(), adapt(**AVERAGED, acting=[interrupts])
    with pytest.raises(KeyboardInterrupt):
        fit(model, ours, interrupts)
    assert weights(model) != interrupts.after
    if close:
        ours.close()
        assert weights(model) == weights(make())
    else:
        fit(model, ours, interrupts)
        assert InterruptsScore.before == [interrupts.after]


def test_the_preset_may_end_by_the_average() -> None:
    policy = recommended("learning_rate", loss="loss", ending="average")
    model, ours, looking = plain_model(), Adapt(policy=policy), Looking()
    fit(model, ours, looking, epochs=8)
    assert ours.loop is not None
    assert {round_.candidate["learning_rate"] for round_ in ours.history} == {
        rate_search(ours.loop).rate
    }
    assert weights(model) == looking.seen[-1]


def test_the_average_of_weights_of_16_bits_is_kept_in_32() -> None:
    """Of 400 numbers whose mean lies between two of them, the last ones still count."""
    layer = layers.Dense(1, use_bias=False, dtype="bfloat16")
    model = keras.Sequential([keras.Input((1,)), layer])
    average = FitAverage(model, 1.0, adapter=None, data=())
    for number in range(400):
        layer.kernel.assign(np.full((1, 1), 1 + 2.0**-7 * (number % 2), "float32"))
        average.update()
    [mean] = average.part().get()["means"]
    assert mean.dtype == np.float32
    assert float(mean[0, 0]) == pytest.approx(1 + 2.0**-8, abs=1e-4)
    before = keras.ops.convert_to_numpy(keras.ops.cast(layer.kernel, "float32"))
    average.put_on()
    average.take_off()
    after = keras.ops.convert_to_numpy(keras.ops.cast(layer.kernel, "float32"))
    assert before == after == 1 + 2.0**-7


@torch_is_enough
def test_buffers_that_keras_does_not_know_are_refused() -> None:
    torch = __import__("torch")
    norm = layers.TorchModuleWrapper(torch.nn.BatchNorm1d(4))
    model = keras.Sequential([keras.Input((4,)), norm, layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(True))
    with raises(SettingsError):
        fit(model, adapt({"learning_rate": [0.1, 0.2]}, **AVERAGED))
