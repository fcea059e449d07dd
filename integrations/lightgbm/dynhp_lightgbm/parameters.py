"""Parameters of LightGBM: which can be adapted, which are in force, which draw random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import lightgbm as lgb

from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Value
from dynhp.spaces import Space

__all__ = ["ADAPTABLE", "asked_for", "chosen_value", "drawing", "in_force", "require_adaptable"]
__all__ += ["require_params"]

ADAPTABLE = (
    *("learning_rate", "num_leaves", "max_depth", "min_data_in_leaf", "min_sum_hessian_in_leaf"),
    *("min_gain_to_split", "lambda_l1", "lambda_l2", "max_delta_step", "path_smooth"),
    *("feature_fraction", "feature_fraction_bynode", "bagging_fraction", "extra_trees"),
    *("cat_l2", "cat_smooth", "max_cat_threshold", "max_cat_to_onehot", "min_data_per_group"),
    *("cegb_penalty_split", "drop_rate", "max_drop"),
)
"""What LightGBM reads again in every round. It takes others too, shows them as if they were in
force, and goes on as before (``scale_pos_weight``, ``alpha``), or crashes."""

_OTHER_DRAWS = {  # what else draws, and the values with which it does not
    "boosting": ("gbdt",),
    "use_quantized_grad": (0,),
    "extra_trees": (0,),
}


def require_params(params: object) -> dict[str, Any]:
    """A copy of the parameters, refused where they are no mapping."""
    if isinstance(params, lgb.LGBMModel):
        raise SettingsError(
            "params must map names to values, as for lightgbm.train, got an estimator, "
            f"{shown(params)}; fit it by adapted_fit(estimator, X, y, eval_set=..., ...)"
        )
    if not isinstance(params, Mapping):
        raise SettingsError(
            f"params must map names to values, as for lightgbm.train, got {shown(params)}"
        )
    return dict(params)


def asked_for(params: Mapping[str, Any], names: Iterable[str]) -> dict[str, Value]:
    """What the parameters say about these names, also where they say it under another one.

    Args:
        params: as for ``lightgbm.train``.
        names: LightGBM's own.

    >>> asked_for({"eta": 1 / 12, "verbosity": -1}, ["learning_rate", "num_leaves"])
    {'learning_rate': 0.08333333333333333}
    """
    chosen = {name: chosen_value(params, name) for name in names}
    return {name: value for name, value in chosen.items() if value is not None}


def chosen_value(params: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """The value of a parameter: of its many aliases, that of the one which LightGBM takes.

    >>> chosen_value({"n_estimators": 20}, "num_iterations", 100)
    20
    """
    return lgb.basic._choose_param_value(name, dict(params), default)[name]


def in_force(booster: lgb.Booster, asked: Mapping[str, Value] | None = None) -> dict[str, Value]:
    """What a booster itself says its parameters are.

    LightGBM trains with all digits of a number and shows six of them. So where it shows just what
    it would show of the value that was asked for, this value is given, and else what is shown.

    Args:
        booster: which is asked.
        asked: the values that it was given last, by their names.
    """
    _, _, section = booster.model_to_string(num_iteration=1).partition("\nparameters:")
    pairs = (line[1:-1].split(": ", 1) for line in section.splitlines() if line.startswith("["))
    texts = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
    asked = {name: value for name, value in (asked or {}).items() if _shown_as(texts[name], value)}
    return {name: asked[name] if name in asked else _plain(text) for name, text in texts.items()}


def _shown_as(text: str, value: Value) -> bool:
    """Whether LightGBM may show a value so, of which it shows six digits."""
    if not isinstance(value, int | float):
        return False
    # It reads a number a last bit off, which turns the sixth digit where the others are a half.
    return text in {f"{value * factor:g}" for factor in (1 - 1e-12, 1, 1 + 1e-12)}


def _plain(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def require_adaptable(space: Space, known: Mapping[str, Value], booster: lgb.Booster) -> None:
    """Refuse names and values with which nothing would change; the booster is used up by it."""
    for name in space:
        if name not in ADAPTABLE:
            raise SettingsError(
                f"{shown(name)} cannot change while LightGBM trains: it is read once, or has "
                f"another name here (learning_rate, not eta){nearest(name, ADAPTABLE)}"
            )
    if known["data_sample_strategy"] == "goss":
        raise SettingsError(
            "LightGBM crashes where a parameter changes under data_sample_strategy='goss'; use "
            "bagging_fraction and bagging_freq instead"
        )
    if "bagging_fraction" in space and not known["bagging_freq"]:
        raise SettingsError(
            "bagging_fraction has no effect with bagging_freq=0; give params bagging_freq=1"
        )
    for name, axis in space.items():
        for value in axis.grid():
            _require_accepted(name, value, booster)


def _require_accepted(name: str, value: Value, booster: lgb.Booster) -> None:
    try:
        booster.reset_parameter({name: value})
    except lgb.basic.LightGBMError as error:
        raise SettingsError(
            f"LightGBM does not take {name}={shown(value)} on the way: {error}"
        ) from None


def drawing(space: Space, known: Mapping[str, Value]) -> list[str]:
    """The parameters because of which this booster draws random numbers, [] where it draws none."""
    fractions = ["feature_fraction", "feature_fraction_bynode"]
    if known["bagging_freq"]:
        fractions += ["bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction"]
    drawn = [name for name in fractions if any(v != 1 for v in _values(name, space, known))]
    drawn += [
        f"{name}={value}"
        for name, without in _OTHER_DRAWS.items()
        for value in _values(name, space, known)
        if value not in without
    ]
    if known["objective"] == "rank_xendcg":
        drawn.append("objective=rank_xendcg")
    return drawn


def _values(name: str, space: Space, known: Mapping[str, Value]) -> Iterable[Value]:
    return space[name].grid() if name in space else (known[name],)
