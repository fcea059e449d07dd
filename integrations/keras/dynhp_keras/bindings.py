"""Settings of the optimiser, and variables of the model, as places for values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import keras

from dynhp.errors import SettingsError, nearest, shown
from dynhp.loops import Binding
from dynhp.records import Value

__all__ = [
    "GuardedBinding",
    "OptimizerSetting",
    "VariableValue",
    "bound_settings",
    "setting",
    "variable",
]


@dataclass(frozen=True, slots=True)
class OptimizerSetting:
    """A setting of the optimiser; ``setting`` makes it.

    >>> optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    >>> OptimizerSetting(optimizer, "momentum").get()
    0.9
    """

    optimizer: Any
    name: str
    way_out: ClassVar[str] = (
        "Take out the callback that sets it (LearningRateScheduler, ReduceLROnPlateau)"
    )

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is: that of the setting."""
        return self.name

    @property
    def traced(self) -> bool:
        """Whether a compiled step reads it anew: the rate is a variable, others are constants."""
        return self.name == "learning_rate"

    def set(self, value: Value) -> None:
        """Put the value in force."""
        _require_number(self.name, value)
        setattr(self.optimizer, self.name, value)

    def get(self) -> Value:
        """Read the value in force."""
        return _plain(getattr(self.optimizer, self.name))


def setting(optimizer: Any, name: str) -> OptimizerSetting:
    """Bind to a setting of an optimiser, such as ``"learning_rate"`` or ``"weight_decay"``.

    Names of the space that the model's optimiser has bind themselves; this is for other names.

    >>> optimizer = keras.optimizers.SGD(0.1)
    >>> rate = setting(optimizer, "learning_rate")
    >>> rate.set(0.3); rate.get()
    0.3
    """
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise SettingsError(f"setting needs an optimiser of Keras, got {shown(optimizer)}")
    if not has_setting(optimizer, name):
        known = [each for each in vars(optimizer) if has_setting(optimizer, each)]
        raise SettingsError(
            f"{type(optimizer).__name__} has no setting {shown(name)} that is a number"
            f"{nearest(name, ['learning_rate', *known])}"
        )
    if name == "learning_rate" and not isinstance(optimizer.learning_rate, keras.Variable):
        raise SettingsError(
            f"the learning rate of {type(optimizer).__name__} follows a schedule, so no value "
            "could be put in force; give the optimiser a number, as in "
            f"{type(optimizer).__name__}(learning_rate=0.01), and the schedule to "
            "Adapt(..., schedule=wsd), a function of the progress from 0 to 1"
        )
    return OptimizerSetting(optimizer, name)


def has_setting(optimizer: Any, name: str) -> bool:
    """Whether an optimiser has such a setting and it is a number.

    >>> optimizer = keras.optimizers.Adam(0.1)
    >>> has_setting(optimizer, "beta_1"), has_setting(optimizer, "momentum")
    (True, False)
    """
    if name == "learning_rate":
        return True
    value = getattr(optimizer, name, None) if not name.startswith("_") else None
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class VariableValue:
    """A variable with one number, which compiled steps read anew; ``variable`` makes it.

    >>> VariableValue(keras.Variable(0.5)).get()
    0.5
    """

    variable: Any
    traced: ClassVar[bool] = True

    def set(self, value: Value) -> None:
        """Put the value in force."""
        _require_number(self.variable.path, value)
        self.variable.assign(value)

    def get(self) -> Value:
        """Read the value in force."""
        return _plain(self.variable)


def variable(holder: Any) -> VariableValue:
    """Bind to a ``keras.Variable`` that a layer of the model uses, such as the strength of a noise.

    >>> strength = keras.Variable(0.1, trainable=False)
    >>> bound = variable(strength)
    >>> bound.set(0.3); bound.get()
    0.3
    """
    if not isinstance(holder, keras.Variable) or tuple(holder.shape):
        raise SettingsError(f"variable needs a keras.Variable with one number, got {shown(holder)}")
    return VariableValue(holder)


class GuardedBinding:
    """A binding that is set while it is allowed to, and otherwise left alone, as parts are.

    >>> optimizer = keras.optimizers.SGD(0.1)
    >>> binding = GuardedBinding(setting(optimizer, "learning_rate"), lambda: False)
    >>> binding.set(0.3); binding.get()
    0.1
    """

    def __init__(
        self, binding: Binding, armed: Callable[[], bool], *, driven_by: str | None = None
    ) -> None:
        self._binding, self._armed = binding, armed
        self.driven_by = driven_by  # the schedule that changes the value during a fit
        self.kind = getattr(binding, "kind", None)
        self.way_out = getattr(binding, "way_out", None)

    def set(self, value: Value) -> None:
        """Put the value in force."""
        if self._armed():
            self._binding.set(value)

    def get(self) -> Value:
        """Read the value in force."""
        return self._binding.get()


def bound_settings(
    names: Iterable[str], bind: Mapping[str, Binding] | None, model: Any
) -> dict[str, Binding]:
    """A binding for each name: as given, or the setting of that name of the model's optimiser."""
    given = dict(bind or {})
    for name in names:
        if name in given:
            continue
        if not has_setting(model.optimizer, name):
            raise SettingsError(_no_setting(model.optimizer, name))
        given[name] = setting(model.optimizer, name)
    _require_read(given, model)
    return given


def _no_setting(optimizer: Any, name: str) -> str:
    kind = type(optimizer).__name__
    if name == "lr":
        return f"{kind} has no setting 'lr'; Keras calls it 'learning_rate'"
    if hasattr(optimizer, name) and getattr(optimizer, name) is None:
        return f"{kind} was made without {name}, so nothing would use it; give {kind}({name}=...)"
    return (
        f"{kind} has no setting {shown(name)}; say where the value lives, as in "
        f"bind={{{name!r}: attribute(layer, 'rate')}}"
    )


def _require_read(bound: Mapping[str, Binding], model: Any) -> None:
    """Refuse what a compiled step would never look at again: the value would change nothing."""
    if keras.config.backend() != "jax" or model.run_eagerly or not model.jit_compile:
        return
    known = {id(each) for each in (*model.variables, *model.optimizer.variables)}
    for name, binding in bound.items():
        holder = getattr(binding, "variable", None)
        if not getattr(binding, "traced", False) or (
            holder is not None and id(holder) not in known
        ):
            raise SettingsError(
                f"{name} is a constant in a step that JAX compiled, so a new value would change "
                "nothing; keep it in a keras.Variable of a layer and bind variable(...), or "
                "compile the model with jit_compile=False"
            )


def _require_number(name: str, value: Value) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(f"{name} must be a number, got {shown(value)}; leave it out")


def _plain(value: Any) -> Value:
    if isinstance(value, int | float):
        return value
    tensor = value.value if isinstance(value, keras.Variable) else value
    number = keras.ops.convert_to_numpy(tensor)[()]
    return float(str(number))  # the number that was meant: 0.1, not 0.10000000149011612
