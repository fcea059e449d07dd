"""What the core is told about gymnasium."""

from __future__ import annotations

from dynhp.frameworks import Integration

__all__ = ["INTEGRATION"]

INTEGRATION = Integration(
    package="dynhp_gymnasium",
    frameworks=("gymnasium",),
    better_than_a_copy="is an environment of gymnasium; state_of(env) of dynhp_gymnasium (pip "
    "install 'dynhp[gymnasium]') puts its layers back in place and leaves clocks alone, which a "
    "plain copy does not",
)
