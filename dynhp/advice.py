"""What research says about adapting which hyperparameter, before a run and after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dynhp.criteria import Criterion
from dynhp.criteria.contract import metrics_of
from dynhp.criteria.metric import direction_of
from dynhp.errors import advise
from dynhp.records import Round

LEAVE_ALONE: dict[str, str] = {
    "dropout": "without dropout the next epoch really is better, so short tries drive it to zero",
    "label_smoothing": "it rescales the loss that tries are judged by, so short tries drive it to "
    "zero",
    "edge_message_ratio": "on leak-free splits no policy tried beat leaving it alone, or a placebo",
    "shrinkage": "short tries prefer large steps, which make a boosted model overfit later",
}
"""Hyperparameters for which nothing tried so far beat leaving them alone, and why."""

_LONG = 0.5
"""A try of this share of a run shows what a run shows."""

_ALIASES = {
    "lr": "learning_rate",
    "learning_rate_scale": "learning_rate",
    "lr_scale": "learning_rate",
    "drop": "dropout",
    "smoothing": "label_smoothing",
}


_LOSSES = {"loss", "error", "err", "mse", "rmse", "mae", "nll", "perplexity", "ppl"}
_SCORES = {"acc", "accuracy", "auc", "auroc", "f1", "r2", "reward", "precision", "recall"}


def canonical_name(name: str) -> str:
    """The name under which a hyperparameter is known here, given one of those it goes by.

    >>> canonical_name("LR"), canonical_name("edge-message-ratio")
    ('learning_rate', 'edge_message_ratio')
    """
    plain = name.lower().replace("-", "_").replace(" ", "_")
    return _ALIASES.get(plain, plain)


def misleading(
    names: Collection[str], kinds: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Why short tries mislead about these, by name; those of which nothing is known are left out.

    >>> list(misleading(["lr", "drop", "p"], {"p": "label_smoothing"}))
    ['drop', 'p']
    """
    known = _names_meant(names, kinds)
    reasons = {
        name: tuple(LEAVE_ALONE[kind] for kind in LEAVE_ALONE if kind in known[name])
        for name in names
    }
    return {name: each for name, each in reasons.items() if each}


def doubts(history: Sequence[Round], kinds: Mapping[str, str] | None = None) -> dict[str, str]:
    """What was adapted and is misjudged by short tries, and why; none if tries were long.

    That two values differ for the next epochs says nothing about the end of a run, and no record of
    tries shows by how much they mislead. What is known is known from whole runs, by what a
    hyperparameter is: ``kinds`` says it if names do not. If nothing is known about one of
    the names that were adapted, nothing is said.

    >>> doubts([])
    {}
    """
    tried = [round_ for round_ in history if round_.tries]
    if not tried:
        return {}
    epochs = sum(round_.epochs for round_ in history)
    longest = max(try_.epochs for round_ in tried for try_ in round_.tries)
    names = list(tried[0].previous)
    reasons_by_name = misleading(names, kinds)
    if len(reasons_by_name) < len(names) or longest >= _LONG * epochs:
        return {}
    return {name: "; ".join(reasons) for name, reasons in reasons_by_name.items()}


def _names_meant(names: Collection[str], kinds: Mapping[str, str] | None) -> dict[str, set[str]]:
    """What each name may stand for: by itself, and by what it is bound to."""
    return {
        name: {canonical_name(name), canonical_name((kinds or {}).get(name, name))}
        for name in names
    }


def hints_for(
    names: Collection[str],
    criterion: Criterion,
    kinds: Mapping[str, str] | None = None,
    *,
    tail: bool = False,
) -> tuple[str, ...]:
    """What a user should know before adapting these, in a sentence each.

    ``kinds`` says of some names what they are bound to: a dropout may be called "p". ``tail`` says
    that tries are run out before they are judged.

    >>> from dynhp import highest
    >>> hints_for(["batch_size"], highest("val_auc"))
    ()
    """
    from dynhp.criteria.combined import rewards_not_learning  # not needed before a run

    known = _names_meant(names, kinds)
    read = metrics_of(criterion)
    # A callable that does not say what it reads may well read averaged weights.
    averaged = not read or any(name.startswith("ema") for name in read)
    hints = [
        f"{name}: {reason}. Compare with a placebo, or use a shadow"
        for name, reasons in misleading(names, kinds).items()
        for reason in reasons
    ]
    hints += [
        f"{name}: short tries judged by ordinary weights choose too small a learning rate; "
        "recommended('learning_rate', ...) anneals each try before it is judged. Compare with "
        "leaving it alone"
        for name in names
        if "learning_rate" in known[name]
        and "shrinkage" not in known[name]  # of a booster, which is no learning rate but in name
        and not averaged
        and not tail
    ]
    if rewards_not_learning(criterion):
        hints.append("smallest_gap rewards not learning; keep it for the paper, or give a floor")
    direction = direction_of(criterion)
    for name in read:
        words = set(name.lower().replace("-", "_").split("_"))
        if direction > 0 and words & _LOSSES:
            hints.append(
                f"{name}: higher counts as better here, though it looks like a loss; use minimize= "
                "or lowest(...) where lower is better"
            )
        if direction < 0 and words & _SCORES:
            hints.append(
                f"{name}: lower counts as better here, though it looks like a score; use maximize= "
                "or highest(...) where higher is better"
            )
    return tuple(hints)


def give_hints(
    names: Collection[str], criterion: Criterion, trainer: object, *, tail: bool
) -> tuple[str, ...]:
    """The hints of ``hints_for``, given too: as warnings, once per process, and to the log."""
    from dynhp._log import logger  # logging takes long to import

    hints = hints_for(names, criterion, getattr(trainer, "kinds", None), tail=tail)
    for hint in hints:
        logger.info(hint)
        advise(hint)
    return hints
