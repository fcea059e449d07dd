"""Whole clusters, each in a process of its own: a node lost in mid-round, nothing left behind."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import dynhp
import dynhp_ray

TWO_NODES = """
import os, pathlib, threading, time
import ray
from ray.cluster_utils import Cluster
from dynhp import DynamicGridAdapter, lowest
from dynhp.testing import NoisyQuadratic, difference
from dynhp_ray import RayExecutor

folder = pathlib.Path(os.environ["FOLDER"])

class Slow(NoisyQuadratic):
    def step(self, lr, momentum):
        node = ray.get_runtime_context().get_node_id()
        (folder / f"{node}-{time.monotonic_ns()}").touch()
        while len(list(folder.glob(f"{node}-*"))) > 3 and not (folder / "removed").exists():
            time.sleep(0.01)  # so that one is lost in mid-round, however slow that is
        super().step(lr, momentum)

def run(executor):
    trainer = NoisyQuadratic(seed=5)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.02, 0.05, 0.1, 0.2, 0.3]}, criterion=lowest("loss"),
        adapt_every=4, try_for=3, executor=executor,
    )
    return adapter.run(8), trainer.get_state()

def kill(cluster, node):
    while not list(folder.glob(f"{node.node_id}-*")):
        time.sleep(0.01)
    time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)
    (folder / "removed").touch()

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
node = cluster.add_node(num_cpus=1)
killer = threading.Thread(target=kill, args=(cluster, node))
with RayExecutor(Slow, address=cluster.address) as executor:
    killer.start()
    history, state = run(executor)
    left = list(folder.iterdir())
    assert ray.is_initialized()
expected, expected_state = run(None)
killer.join()
assert any(path.name == "removed" for path in left), "no node was lost while it ran"
assert len({path.name.split("-")[0] for path in left}) == 3, "only one node was at work"
assert history == expected
assert difference(expected_state, state) is None
ray.shutdown()
cluster.shutdown()
print("as Serial")
"""

OWN_RAY = """
import os, pathlib, ray
from dynhp import DynamicGridAdapter, lowest
from dynhp.testing import NoisyQuadratic
from dynhp_ray import RayExecutor

def run(executor):
    adapter = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"),
        adapt_every=2, try_for=1, executor=executor,
    )
    return adapter.run(4)

def look(read, path):
    try:
        return read(path)
    except OSError:  # that thread or process has ended since it was listed
        return []

def tree(pid):
    below = [child for thread in look(os.listdir, f"/proc/{pid}/task")
             for child in look(lambda path: pathlib.Path(path).read_text().split(),
                               f"/proc/{pid}/task/{thread}/children")]
    return [pid, *(each for child in below for each in tree(int(child)))]

with RayExecutor(NoisyQuadratic, actors=os.cpu_count() + 1) as first:
    run(first)
    with RayExecutor(NoisyQuadratic) as other:  # uses the same Ray, and leaves it
        run(other)
    assert ray.is_initialized()
    ray_processes = set(tree(os.getpid())) - {os.getpid()}
    assert len(ray_processes) > os.cpu_count() + 1, ray_processes
    run(first)
    ray.shutdown()  # by somebody else: the executor begins anew
    run(first)
    pool = first._pooled._pool
    pool._end(pool.workers, 0)  # as after a run whose tries hung
    ray_processes |= set(tree(os.getpid())) - {os.getpid()}
    ray.shutdown()
    run(first)
    assert ray.is_initialized()
    ray_processes |= set(tree(os.getpid())) - {os.getpid()}
assert not ray.is_initialized()
print("\\n".join(map(str, ray_processes)))
"""

STRANGER = """
import os, subprocess, sys
import ray
from dynhp.records import Candidate
from dynhp.executors.contract import Job
from dynhp.testing import NoisyQuadratic
from dynhp_ray import RayExecutor

code = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False); print('inside')"
origin = NoisyQuadratic().get_state()
jobs = [Job(origin=origin, candidate=Candidate({"lr": 0.1}), epochs=1)]
with RayExecutor(NoisyQuadratic, actors=1) as executor:
    list(executor.run(NoisyQuadratic(), jobs, at=origin))
    address = ray.get_runtime_context().gcs_address
    for token in ({}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}):
        done = subprocess.run(
            [sys.executable, "-c", code, address], env=os.environ | token,
            capture_output=True, text=True,
        )
        print("inside" in done.stdout, "AuthenticationError" in done.stderr)
"""


def script(code: str, folder: Path, *, own_token: bool = True) -> list[str]:
    """Run a script with Ray in mind, and give the lines that it prints."""
    here = [str(Path(package.__file__ or "").parent.parent) for package in (dynhp, dynhp_ray)]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")},
        "FOLDER": str(folder),
        "PYTHONPATH": os.pathsep.join([*here, os.environ.get("PYTHONPATH", "")]),
        "RAY_health_check_initial_delay_ms": "500",  # so that a lost node is noticed soon
        "RAY_health_check_period_ms": "300",
        "RAY_health_check_failure_threshold": "3",
    }
    if own_token:  # only ray.init makes one by itself
        environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_a_node_lost_in_mid_round_changes_nothing(own_home: Path, tmp_path: Path) -> None:
    assert "as Serial" in script(TWO_NODES, tmp_path)


def test_a_ray_of_its_own_is_ended_without_a_trace(own_home: Path, tmp_path: Path) -> None:
    lines = [line for line in script(OWN_RAY, tmp_path) if line]
    assert all(map(str.isdigit, lines)), lines  # and nothing else is printed
    while any(Path(f"/proc/{line}").exists() for line in lines):
        time.sleep(0.1)


def test_a_ray_of_its_own_lets_nobody_in_without_its_token(own_home: Path, tmp_path: Path) -> None:
    """Ray listens on all addresses of the machine, so that it must ask who is there."""
    assert script(STRANGER, tmp_path, own_token=False) == ["True False", "False True", ""]
