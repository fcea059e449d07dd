"""The exceptions of dynhp, all of them, as one tree.

::

    DynhpError
    ├── SettingsError (ValueError)      a setting or an argument cannot work; raised before training
    ├── LeaveItAlone (ValueError)       advice: this hyperparameter is better not adapted
    ├── ContractError (RuntimeError)    a trainer, criterion or proposer broke its contract
    │   ├── NotRepeatable               the same try, repeated, ended differently
    │   ├── StateLost                   a trainer could not be put back; what it holds is unknown
    │   ├── ValueNotInForce             the chosen value has no effect, or was overwritten
    │   ├── ValueNotUsed                tries ended exactly alike, whatever their values
    │   └── MetricError                 a metric is missing or is not a number
    ├── AllTriesFailed (RuntimeError)   no candidate of a round could be trained
    ├── RescuesSpent (RuntimeError)     the main line broke once more than it may be rescued
    ├── TimeIsUp (RuntimeError)         a run ended between two rounds, as its time limit says
    ├── UnknownName (KeyError, AttributeError)  there is no value or attribute of that name
    ├── LoopError (RuntimeError)        the loop around ``adapt`` did something it must not
    ├── CodecError (TypeError)          a state holds something that cannot be stored
    ├── CheckpointError (RuntimeError)  a checkpoint or journal cannot be written or used
    │   └── DamagedFile                 a file is incomplete, was changed, or is of another kind
    └── LawBroken (AssertionError)      ``dynhp.testing`` caught a trainer breaking a law
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterable
from types import FrameType

__all__ = ["AllTriesFailed", "CheckpointError", "CodecError", "ContractError", "DamagedFile"]
__all__ += ["DynhpError", "LawBroken", "LeaveItAlone", "LoopError", "MetricError", "SettingsError"]
__all__ += ["NotRepeatable", "ValueNotInForce", "Hint", "ValueNotUsed", "advise", "nearest"]
__all__ += ["RescuesSpent", "StateLost", "TimeIsUp", "UnknownName", "shown", "warn_caller"]


class DynhpError(Exception):
    """Any error that dynhp raises on purpose.

    >>> from dynhp import Float
    >>> try:
    ...     Float(1.0, 0.1)
    ... except DynhpError as error:
    ...     print(f"{type(error).__name__}: {error}")
    SettingsError: Float: low must be below high, got low=1.0, high=0.1
    """


class SettingsError(DynhpError, ValueError):
    """A setting or an argument cannot work; nothing has been trained yet."""


class LeaveItAlone(DynhpError, ValueError):
    """Advice, raised by ``recommended`` or at a start: better not adapt this, or not like this."""


class ContractError(DynhpError, RuntimeError):
    """A trainer, criterion, proposer or executor broke its contract."""


class ValueNotInForce(ContractError):
    """The value chosen for a hyperparameter has no effect, or something overwrote it."""


class ValueNotUsed(ContractError):
    """Tries of a round ended exactly alike, although their values differ."""


class NotRepeatable(ContractError):
    """A try that was repeated from the same origin ended differently."""


class StateLost(ContractError):
    """A trainer could not be put back to where it was: what it holds now is unknown."""


class MetricError(ContractError):
    """A metric that is needed is missing, or is not a number."""


class AllTriesFailed(DynhpError, RuntimeError):
    """Every candidate of a round failed; the trainer is back at the round's origin."""


class RescuesSpent(DynhpError, RuntimeError):
    """The main line broke, and it was rescued as often as it may be; its state is healthy."""


class TimeIsUp(DynhpError, RuntimeError):
    """The time limit of a run was over before its next round; all rounds before it stay."""


class UnknownName(DynhpError, KeyError, AttributeError):
    """There is nothing of that name, neither as a key nor as an attribute."""

    __str__ = Exception.__str__  # a KeyError would show the repr of the message


class LoopError(DynhpError, RuntimeError):
    """The loop around ``adapt`` did something that has no meaning."""


class CodecError(DynhpError, TypeError):
    """A state holds something that no codec can store or read; the message has the path to it."""


class CheckpointError(DynhpError, RuntimeError):
    """A checkpoint or a journal cannot be written, or none that is there can be used."""


class DamagedFile(CheckpointError):
    """A file is incomplete, was changed from outside, or is of another kind."""


class LawBroken(DynhpError, AssertionError):
    """A trainer broke one of the laws of ``dynhp.testing``."""


class Hint(UserWarning):
    """Advice on a run that goes on: what is probably not what was meant, and the way out.

    >>> warnings.simplefilter("ignore", Hint)  # no more advice
    """


_given: set[Hashable] = set()  # the hints of this process


def advise(hint: str, *, about: Hashable = None) -> None:
    """Give a hint as a warning at the line that called dynhp, each once per process.

    Args:
        hint: what to say.
        about: what it is about, if the text differs though it says the same.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     advise("lr: 3.0 is large"); advise("lr: 3.0 is large")
    >>> [str(warning.message) for warning in caught]
    ['lr: 3.0 is large']
    """
    if (about or hint) in _given:
        return
    _given.add(about or hint)
    warn_caller(hint, Hint)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Give a warning at the line that called dynhp, however deep in the package the cause lies.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("the disk is nearly full", RuntimeWarning)
    >>> print(caught[0].message)
    the disk is nearly full
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_inside(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    """Whether this is a frame of dynhp, or of the ``contextlib`` that runs its ``with`` blocks."""
    module = str(frame.f_globals.get("__name__", ""))
    return module == "contextlib" or module.startswith("dynhp")


def shown(value: object, most: int = 200) -> str:
    """An object in a message: its repr, cut where it is long, whatever the object does.

    >>> shown([1, 2]), len(shown("x" * 100_000)) <= 200
    ('[1, 2]', True)
    """
    try:
        text = repr(value)
    except Exception as error:  # what cannot even say what it is
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    if len(text) <= most:
        return text
    return f"{text[: most - 40].rstrip()}... ({len(text)} characters)"


def nearest(name: object, known: Iterable[str]) -> str:
    """Say which known name was probably meant, for the end of an error message.

    >>> nearest("val_acu", ["train_auc", "val_auc"])
    "; did you mean 'val_auc'? Known: 'train_auc', 'val_auc'"
    """
    import difflib  # only errors need it

    names = sorted(map(str, known))
    meant = name if isinstance(name, str) else shown(name)
    close = difflib.get_close_matches(meant[:100], names, n=1)
    hint = f"; did you mean {shown(close[0], 60)}?" if close else ";"
    listed = ", ".join(shown(each, 60) for each in names[:10])
    more = f", ... ({len(names)} in all)" if len(names) > 10 else ""
    return f"{hint} Known: {listed or 'none'}{more}"
