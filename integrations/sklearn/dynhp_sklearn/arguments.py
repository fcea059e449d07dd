"""What an estimator's own arguments and its ``options`` come to, each of them said once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynhp import Policy
from dynhp.criteria.contract import metrics_of
from dynhp.errors import MetricError, SettingsError, advise, nearest, shown
from dynhp.loops import policy_and_others
from dynhp.triggers.contract import looks_at
from dynhp_sklearn.trainer import LOSSES

__all__ = ["losses_read", "said_once", "warn_of_coarse_loss"]

_EPOCHS_OF_A_ROUND = 5
_EPOCHS_OF_A_TRY = 1
_COARSE = (None, "accuracy", "balanced_accuracy")  # scorings of a classifier that count rows


def said_once(own: Mapping[str, Any], options: Any) -> tuple[Policy, dict[str, Any]]:
    """The policy of a fit, and the options of ``adapt_trainer`` beside it.

    Without a policy, a round has 5 epochs, a try has 1, and the score decides, unless something
    else is said.

    Args:
        own: arguments of the estimator: policy, space, adapt_every and try_for; None: not given.
        options: other arguments of ``dynhp.adapt``.

    >>> policy, others = said_once({"space": {"eta0": [0.1, 1]}}, {"progress": True})
    >>> policy.when, policy.try_for, policy.criterion, others
    (Every(n=5), 1, highest('val_score'), {'progress': True})
    """
    if options is not None and not isinstance(options, Mapping):
        policy = isinstance(options, Policy)
        way_out = "give it as policy=..." if policy else "such as options={'dry_run': True}"
        raise SettingsError(
            f"options must map names of arguments of dynhp.adapt, got {shown(options)}; {way_out}"
        )
    given: dict[str, Any] = dict(options or {})
    if "epochs" in given:
        raise SettingsError(
            f"epochs is an argument of the estimator, got {shown(given['epochs'])} in options; "
            "take it out of them and give epochs=..."
        )
    for name, value in own.items():
        if value is not None and given.get(name) is not None:
            raise SettingsError(
                f"{name} must be said once, got {shown(value)} and in options "
                f"{shown(given[name])}; leave one of them out"
            )
        if value is not None:
            given[name] = value
    given = {name: value for name, value in given.items() if value is not None}
    space = given.pop("space", None)
    if isinstance(space, Policy):
        raise SettingsError(
            f"space must map parameters to their values, got a policy, {shown(space)}; give it as "
            "policy=..."
        )
    if "policy" not in given:
        if space is None:
            raise SettingsError(
                "space is missing: give the parameters to adapt and their values, such as {'eta0': "
                "[0.01, 0.1]}, or a policy that has them, policy=recommended('learning_rate', "
                "name='eta0')"
            )
        given = _with_defaults(given)
    return policy_and_others(space, given, caller="dynhp.adapt")


def _with_defaults(given: dict[str, Any]) -> dict[str, Any]:
    defaults: dict[str, Any] = {"try_for": _EPOCHS_OF_A_TRY}
    if "when" not in given:
        defaults["adapt_every"] = _EPOCHS_OF_A_ROUND
    if not {"criterion", "minimize", "maximize"} & given.keys():
        defaults["maximize"] = "val_score"
    return {**defaults, **given}


def losses_read(policy: Policy, keep_best: Any = None) -> tuple[str, ...]:
    """Which losses the criterion and what else judges read, so that no others are computed.

    >>> from dynhp import paper
    >>> losses_read(paper({"eta0": [0.1, 1]}, 5, 1, validation="train_loss"))
    ('train_loss',)
    """
    names = [*metrics_of(policy.criterion), *metrics_of(keep_best), *looks_at(policy.when)]
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
