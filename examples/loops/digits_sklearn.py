"""A linear classifier of scikit-learn, trained epoch by epoch, with its step size adapted."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from dynhp import adapt, attribute

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
perm = rng.permutation(len(X))
X, y = X[perm] / 16, y[perm]
Xt, yt, Xv, yv = X[:1200], y[:1200], X[1200:], y[1200:]
clf = SGDClassifier(
    loss="log_loss", learning_rate="constant", eta0=0.1, alpha=1e-4, random_state=0
)
for epoch in adapt(10, state=[clf, rng], space={"eta0": [0.03, 0.1, 0.3]}, minimize="val_loss",
                   bind={"eta0": attribute(clf, "eta0")}, adapt_every=5, try_for=1):
    order = rng.permutation(1200)
    for i in range(0, 1200, 100):
        clf.partial_fit(Xt[order[i : i + 100]], yt[order[i : i + 100]], classes=np.arange(10))
    vl, acc = log_loss(yv, clf.predict_proba(Xv)), clf.score(Xv, yv)
    epoch.report(val_loss=vl, acc=acc)
    if epoch.main:
        print(f"epoch {epoch} val_loss {vl:.4f} acc {acc:.4f}")
np.savez(sys.argv[1], coef=clf.coef_, b=clf.intercept_, t=clf.t_)
