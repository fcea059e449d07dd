"""The connection to Ray: joined or started when first needed, ended only if it was started here."""

from __future__ import annotations

import logging
import math
import os
from collections import Counter

import ray

from dynhp.errors import SettingsError, advise, shown

__all__ = ["join", "leave", "say_who_gets_in"]

_users: Counter[str] = Counter()
"""How many executors use the Ray that was started here, by its address."""


def join(address: str | None, *, cpus: float, gpus: float) -> str:
    """Connect to a cluster, or start one here with room for all actors; return its address."""
    if ray.is_initialized():
        _require_same(address)
    elif address is None:
        _start(cpus=cpus, gpus=gpus)
        _users[_here()] = 0
    else:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    here = _here()
    if here in _users:
        _users[here] += 1
    return here


def leave(address: str) -> None:
    """End the Ray at that address if it was started here and no other executor uses it."""
    _users.subtract([address] if address in _users else [])
    if _users.get(address) == 0:
        del _users[address]
        if ray.is_initialized() and _here() == address:
            ray.shutdown()


def _here() -> str:
    return str(ray.get_runtime_context().gcs_address)


def say_who_gets_in() -> None:
    """Say that Ray listens on all addresses: as a warning if it was told to ask for no token."""
    logging.getLogger("dynhp").info(
        "Ray listens on all addresses of this machine, and asks for the token in ~/.ray/auth_token"
    )
    if os.environ.get("RAY_AUTH_MODE", "token") != "token":
        advise(
            "RayExecutor: Ray listens on all addresses of this machine, and with RAY_AUTH_MODE="
            f"{shown(os.environ['RAY_AUTH_MODE'])} it may let in who has no token, to run code as "
            "you; unset RAY_AUTH_MODE, or close the machine to others"
        )


def _start(*, cpus: float, gpus: float) -> None:
    say_who_gets_in()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no reports unless they are asked for
    ray.init(
        address="local",  # whatever else runs on this machine
        num_cpus=max(math.ceil(cpus), os.cpu_count() or 1),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    there = ray.cluster_resources().get("GPU", 0.0)
    if there < gpus:
        ray.shutdown()
        raise SettingsError(
            f"RayExecutor: its actors need {gpus:g} GPUs (actors × num_gpus) and this machine has "
            f"{there:g}; ask for fewer, or give the address of a cluster that has them"
        )


def _require_same(address: str | None) -> None:
    if address not in (None, "auto", _here()):
        raise SettingsError(
            f"RayExecutor: address={address!r}, but this process is connected to {_here()!r} "
            "already; leave the address out, or call ray.shutdown() first"
        )
