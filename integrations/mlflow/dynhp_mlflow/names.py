"""Names of series as MLflow takes them."""

from __future__ import annotations

import posixpath
import re

from dynhp.errors import SettingsError

__all__ = ["Names"]

MOST = 250


class Names:
    """Gives each series a name that MLflow takes, and no name to two of them.

    >>> names = Names()
    >>> names["main/hits@10"], names["schedule/optimizer=adam"], names["main/val_loss"]
    ('main/hits_10', 'schedule/optimizer_adam', 'main/val_loss')
    """

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}  # a name, and the series that has it

    def __getitem__(self, series: str) -> str:
        kind, _, rest = series.partition("/")
        rest = re.sub(r"[^/ :.\w-]", "_", rest)[: MOST - len(kind) - 1]
        if posixpath.normpath(f"{kind}/{rest}") != f"{kind}/{rest}":  # which is read as a path
            rest = re.sub(r"^\.|/", "_", rest)
        name = f"{kind}/{rest}"
        other = self._taken.setdefault(name, series)
        if other != series:
            raise SettingsError(
                f"MLflow would call both {other!r} and {series!r} {name!r}; give one of the "
                "metrics or hyperparameters another name"
            )
        return name
