"""What an estimator's own arguments and its ``options`` come to, each of them said once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynhp import Space
from dynhp.criteria.contract import metrics_of
from dynhp.errors import MetricError, SettingsError, advise, nearest, shown
from dynhp_sklearn.trainer import LOSSES

__all__ = ["adapt_arguments", "losses_read", "warn_of_coarse_loss"]

_EPOCHS_OF_A_ROUND, _EPOCHS_OF_A_TRY = 5, 1
_COARSE = (None, "accuracy", "balanced_accuracy")  # scorings of a classifier that count rows


def adapt_arguments(*, space: Any, adapt_every: Any, try_for: Any, options: Any) -> dict[str, Any]:
    """The arguments of ``adapt_trainer``; what the estimator was not given, the options say.

    Args:
        space: the parameters to adapt and their values; None where the options have it.
        adapt_every: the epochs of a round; None: as the options say, else 5.
        try_for: the epochs of a try; None: as the options say, else 1.
        options: other arguments of ``dynhp.adapt``, such as a whole preset.

    >>> from dynhp import recommended
    >>> preset = recommended("learning_rate", name="eta0")
    >>> both = adapt_arguments(space=None, adapt_every=None, try_for=None, options=preset)
    >>> both["space"], both["adapt_every"], both["try_for"], both["when"]
    (Space(eta0=Around(0.03)), None, 0, At(moments=(0,)))
    """
    if options is not None and not isinstance(options, Mapping):
        raise SettingsError(
            f"options must map names of arguments of dynhp.adapt, got {shown(options)}; "
            "such as options={'dry_run': True}"
        )
    arguments: dict[str, Any] = dict(options or {})
    if "epochs" in arguments:
        raise SettingsError(
            f"epochs is an argument of the estimator, got {shown(arguments['epochs'])} in options; "
            "take it out of them and give epochs=..."
        )
    own = {"space": space, "adapt_every": adapt_every, "try_for": try_for}
    for name, value in own.items():
        if value is not None and arguments.get(name) is not None:
            raise SettingsError(
                f"{name} must be said once, got {shown(value)} and in options "
                f"{shown(arguments[name])}; leave one of them out"
            )
        if arguments.get(name) is None:
            arguments[name] = value
    arguments["space"] = _space(arguments["space"])
    if arguments["adapt_every"] is None and arguments.get("when") is None:
        arguments["adapt_every"] = _EPOCHS_OF_A_ROUND
    if arguments["try_for"] is None:
        arguments["try_for"] = _EPOCHS_OF_A_TRY
    if not {"criterion", "minimize", "maximize"} & arguments.keys():
        arguments["maximize"] = "val_score"
    return arguments


def _space(given: Any) -> Space:
    if given is None:
        raise SettingsError(
            "space is missing: give the parameters to adapt and their values, such as {'eta0': "
            "[0.01, 0.1]}, or a preset that brings them, options=recommended('learning_rate', "
            "name='eta0')"
        )
    if isinstance(given, Mapping) and isinstance(given.get("space"), Mapping):
        raise SettingsError(
            f"space must map parameters to their values, got the arguments of a preset, "
            f"{shown(list(given))}; give them as options=..."
        )
    return given if isinstance(given, Space) else Space(given)


def losses_read(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Which losses the criterion and what else judges read, so that no others are computed.

    Args:
        arguments: of ``adapt_trainer``.

    >>> from dynhp import lowest
    >>> losses_read({"criterion": lowest("train_loss")}), losses_read({"maximize": "val_score"})
    (('train_loss',), ())
    """
    words = (arguments.get("minimize"), arguments.get("maximize"))
    names = [word for word in words if isinstance(word, str)]  # what is none, dynhp.adapt refuses
    for judge in ("criterion", "keep_best", "when"):
        if judge in arguments:
            names += metrics_of(arguments[judge])
    known = ("val_score", *LOSSES)
    for name in names:
        if name not in known:
            raise MetricError(f"there is no metric {shown(name)}{nearest(name, known)}")
    return tuple(name for name in LOSSES if name in names)


def warn_of_coarse_loss(losses: tuple[str, ...], scoring: Any, *, classifier: bool) -> None:
    """Say it where a loss counts rows, so that many values come out level."""
    if losses and classifier and scoring in _COARSE:
        advise(
            f"{', '.join(losses)} is minus the score, and the score is accuracy, which counts rows "
            "and is level for many values, so that what is found depends on the start; give "
            "scoring='neg_log_loss', or another score that shows small differences"
        )
