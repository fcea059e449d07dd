"""Meta-estimators that adapt hyperparameters of an estimator while it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from dynhp import Policy, schedule_of, spent
from dynhp.errors import SettingsError, shown
from dynhp.spaces import SpaceLike
from dynhp.wrappers import adapt_trainer
from dynhp_sklearn.arguments import losses_read, said_once, warn_of_coarse_loss
from dynhp_sklearn.refusals import require_adaptable, require_incremental, require_used
from dynhp_sklearn.splitting import held_out_rows
from dynhp_sklearn.trainer import EstimatorTrainer, Examples, require_weights, seeded

__all__ = ["AdaptiveClassifier", "AdaptiveRegressor"]

_PROBED = 1000  # rows on which it is tried whether a value has an effect


def _has(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


class _Adaptive(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What both have in common."""

    def __init__(
        self,
        estimator: Any,
        space: SpaceLike | None = None,
        *,
        policy: Policy | None = None,
        epochs: int = 20,
        adapt_every: int | None = None,
        try_for: float | None = None,
        scoring: Any = None,
        validation_fraction: float = 0.1,
        batch_size: int | None = None,
        random_state: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.policy = policy
        self.epochs = epochs
        self.adapt_every = adapt_every
        self.try_for = try_for
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.random_state = random_state
        self.options = options

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> None:
        own = ("policy", "space", "adapt_every", "try_for")
        policy, others = said_once({name: getattr(self, name) for name in own}, self.options)
        space = policy.space
        losses = losses_read(policy, others.get("keep_best"))
        require_adaptable(self.estimator, space)
        warn_of_coarse_loss(losses, self.scoring, classifier=classes is not None)
        require_weights(self.estimator, sample_weight)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        rng = check_random_state(self.random_state)
        split_seed, order_seed = rng.randint(2**31 - 1, size=2)
        self.estimator_ = clone(self.estimator)
        seeded(self.estimator_, rng)
        every = Examples(X=X, y=y, weight=sample_weight)
        held_out = held_out_rows(y, self.validation_fraction, classes, seed=int(split_seed))
        train = every.take(np.flatnonzero(~held_out))

        def trainer(estimator: Any, rows: Examples) -> EstimatorTrainer:
            return EstimatorTrainer(
                estimator,
                rows,
                every.take(np.flatnonzero(held_out)),
                names=tuple(space),
                scorer=check_scoring(self.estimator_, self.scoring),
                classes=classes,
                batch_size=self.batch_size,
                seed=int(order_seed),
                losses=losses,
            )

        if policy.check != "off":
            start = {name: axis.grid()[0] for name, axis in space.items()}
            some = train.take(np.arange(min(len(train), _PROBED)))
            require_used(trainer(clone(self.estimator_), some), space, start)
        self.history_ = adapt_trainer(
            trainer(self.estimator_, train), self.epochs, policy=policy, **others
        )
        self.schedule_ = schedule_of(self.history_)
        self.cost_ = spent(self.history_)

    def _require_settings(self) -> None:
        require_incremental(self.estimator)
        fraction = self.validation_fraction
        if not isinstance(fraction, float) or not 0 < fraction < 1:
            raise SettingsError(
                f"validation_fraction must lie between 0 and 1, got {shown(fraction)}"
            )

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr")

    def predict(self, X: Any) -> Any:
        """Predict with the fitted estimator."""
        X = self._checked(X)
        return self.estimator_.predict(X)


class AdaptiveClassifier(ClassifierMixin, _Adaptive):  # type: ignore[misc]
    """A classifier with ``partial_fit`` whose hyperparameters are adapted while it is fitted.

    ``fit`` holds out a part of the data (as large for each class), goes over the rest ``epochs``
    times, and every ``adapt_every`` epochs tries all values for ``try_for`` epochs on copies; the
    copy that does best on what was held out goes on.

    Args:
        estimator: with ``partial_fit``; values it ignores after the first call are refused.
        space: the parameters to adapt, and their values, unless the policy has them.
        policy: everything that decides how they are adapted, such as
            ``recommended("learning_rate", name="eta0")``; see ``dynhp.Policy``.
        epochs: the passes over the data.
        adapt_every: the epochs of a round; by default as the policy says, or 5.
        try_for: the epochs of a try; by default as the policy says, or 1.
        scoring: what a try is judged by, as in scikit-learn; the estimator's score by default.
        validation_fraction: the part of the data that is held out.
        batch_size: rows of one ``partial_fit``, shuffled in every epoch; all at once by default.
        random_state: of the split, the batches, and an estimator without a seed of its own.
        options: others of ``dynhp.adapt``, such as ``{"proposer": Neighbors(1), "dry_run": True}``.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaptiveClassifier(
    ...     SGDClassifier(learning_rate="constant", eta0=0.01), {"eta0": [0.001, 0.01, 0.1]},
    ...     random_state=0).fit(X, y)
    >>> print(model.cost_)
    20 epochs on the main line + 10 overhead = 30: 1.50 runs
    >>> len(model.history_), model.schedule_.epochs
    (4, 20)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaptiveClassifier:
        """Fit with adaptation."""
        self._require_settings()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"a classifier needs at least two classes, but the data have 1 class: "
                f"{shown(self.classes_[0])}"
            )
        self._fit(X, y, sample_weight, self.classes_)
        return self

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the fitted estimator."""
        X = self._checked(X)
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the probabilities of the fitted estimator."""
        X = self._checked(X)
        return self.estimator_.predict_log_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The decision function of the fitted estimator."""
        X = self._checked(X)
        return self.estimator_.decision_function(X)


class AdaptiveRegressor(RegressorMixin, _Adaptive):  # type: ignore[misc]
    """A regressor with ``partial_fit`` whose hyperparameters are adapted while it is fitted.

    Args:
        estimator: with ``partial_fit``; values it ignores after the first call are refused.
        space: the parameters to adapt, and their values, unless the policy has them.
        policy: everything that decides how they are adapted, such as
            ``recommended("learning_rate", name="eta0")``; see ``dynhp.Policy``.
        epochs: the passes over the data.
        adapt_every: the epochs of a round; by default as the policy says, or 5.
        try_for: the epochs of a try; by default as the policy says, or 1.
        scoring: what a try is judged by, as in scikit-learn; the estimator's score by default.
        validation_fraction: the part of the data that is held out.
        batch_size: rows of one ``partial_fit``, shuffled in every epoch; all at once by default.
        random_state: of the split, the batches, and an estimator without a seed of its own.
        options: others of ``dynhp.adapt``, such as ``{"proposer": Neighbors(1), "dry_run": True}``.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import SGDRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaptiveRegressor(SGDRegressor(), {"alpha": [1e-5, 1e-4]}, random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (442,)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaptiveRegressor:
        """Fit with adaptation."""
        self._require_settings()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True
        )
        self._fit(X, y, sample_weight, None)
        return self
