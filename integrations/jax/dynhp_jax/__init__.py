"""dynhp for JAX: pytrees as state, keys included, and settings of optax without recompiling."""

from __future__ import annotations

try:
    import jax as _jax
    import optax as _optax
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_jax needs JAX and optax: pip install 'dynhp[jax]'") from missing

from dynhp_jax import codecs
from dynhp_jax.carry import Carry
from dynhp_jax.epoch import PytreeEpoch
from dynhp_jax.injected import Injected, injected
from dynhp_jax.loop import PytreeLoop, adapt_pytree
from dynhp_jax.trainer import PytreeTrainer, pytree_trainer

__all__ = [
    # ways in
    "adapt_pytree",
    "pytree_trainer",
    # where values live
    "injected",
    # what the ways in hand out
    "Carry",
    "Injected",
    "PytreeEpoch",
    "PytreeLoop",
    "PytreeTrainer",
]

del _jax, _optax

# From now on, states that hold arrays and keys of JAX can be saved.
codecs.register()
