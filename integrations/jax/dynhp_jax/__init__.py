"""dynhp for JAX: pytrees as state, keys included, and settings of optax without recompiling."""

from __future__ import annotations

try:
    import jax as _jax
    import optax as _optax
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_jax needs JAX and optax: pip install 'dynhp[jax]'") from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_jax import codecs
from dynhp_jax.averaging import average_of
from dynhp_jax.injected import injected
from dynhp_jax.loop import adapt_pytree
from dynhp_jax.trainer import pytree_trainer

__all__ = ["adapt_pytree", "average_of", "injected", "pytree_trainer"]

del _jax, _optax

# From now on, states that hold arrays and keys of JAX can be saved.
codecs.register()

register_integration(Integration(package=__name__, frameworks=("jax", "optax")))
