"""A setting of the transforms of a loader's dataset as a place for a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader

from dynhp import attribute
from dynhp.errors import SettingsError, shown
from dynhp.loops import Binding
from dynhp.records import Value

__all__ = ["Augmentation", "augmentation", "require_no_copies"]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """An attribute below the dataset of a loader; ``augmentation`` makes it.

    >>> class Noisy(list): noise = 0.1
    >>> loader = DataLoader(Noisy(range(4)))
    >>> Augmentation(loader, attribute(loader.dataset, "noise")).get()
    0.1
    """

    loader: DataLoader[Any]
    place: Binding

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is: mostly what the attribute is called."""
        return str(getattr(self.place, "kind", ""))

    def set(self, value: Value) -> None:
        """Set the attribute, for the epochs that begin from now on."""
        _require_own_copy(self.loader, "augmentation")
        self.place.set(value)

    def get(self) -> Value:
        """Read the attribute."""
        return self.place.get()


def augmentation(loader: DataLoader[Any], path: str) -> Binding:
    """Bind to a setting of what prepares the samples, by its path from the loader's dataset.

    Worker processes get a copy of the dataset when an epoch begins, and with it the value. Those of
    ``persistent_workers=True`` keep their first copy for ever, so such a loader is refused.

    >>> from torch.utils.data import Dataset
    >>> class Noisy(Dataset):
    ...     noise = 0.0
    ...     def __len__(self): return 2
    ...     def __getitem__(self, place): return place + self.noise
    >>> loader = DataLoader(Noisy(), batch_size=2)
    >>> noise = augmentation(loader, "noise"); noise.set(0.5)
    >>> next(iter(loader)).tolist(), noise.get()
    ([0.5, 1.5], 0.5)
    """
    if not isinstance(loader, DataLoader):
        raise SettingsError(
            f"augmentation needs the DataLoader, not what it loads from, got {shown(loader)}"
        )
    _require_own_copy(loader, "augmentation")
    bound = Augmentation(loader, attribute(loader.dataset, path))
    bound.get()
    return bound


def require_no_copies(bind: Any, loaders: Any) -> None:
    """Refuse a value that is bound to an attribute of which worker processes keep an old copy.

    >>> require_no_copies({"noise": attribute([0.1], "0")}, [])
    """
    for name, binding in (bind or {}).items():
        root = getattr(binding, "root", None)
        for loader in loaders:
            if root is not None and _keeps_copy(loader) and _holds(loader.dataset, root):
                _require_own_copy(loader, name)


def _keeps_copy(loader: Any) -> bool:
    return isinstance(loader, DataLoader) and loader.num_workers > 0 and loader.persistent_workers


def _require_own_copy(loader: DataLoader[Any], name: str) -> None:
    if _keeps_copy(loader):
        raise SettingsError(
            f"{name}: worker processes of a loader with persistent_workers=True keep the copy of "
            "the dataset that they began with, so a changed value would have no effect there; "
            "make the loader with persistent_workers=False"
        )


def _holds(thing: Any, wanted: Any, depth: int = 4) -> bool:
    """Whether the wanted object is this one or, a few steps deep, inside of it."""
    if thing is wanted:
        return True
    if isinstance(thing, dict):
        inside = list(thing.values())
    elif isinstance(thing, list | tuple):
        inside = list(thing[:64])  # a longer list holds data
    else:
        inside = list(getattr(thing, "__dict__", {}).values())
    return depth > 0 and any(_holds(each, wanted, depth - 1) for each in inside)
