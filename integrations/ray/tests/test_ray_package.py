"""The package as a whole: a helpful import, examples, a README that runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from dynhp import errors
from dynhp.errors import SettingsError
from dynhp.testing import NoisyQuadratic
from dynhp_ray import RayExecutor, cluster
from tests.support.messages import raises
from tests.support.packages import check_says_what_to_install, frameworks_of

README = Path(__file__).parent.parent / "README.md"


def test_without_ray_the_import_says_what_to_install() -> None:
    line = "dynhp_ray needs Ray: pip install 'dynhp[ray]'"
    check_says_what_to_install("dynhp_ray", "ray", line)


def test_importing_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_ray") == {"dynhp_ray", "ray"}


def test_every_block_of_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 1
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})


@pytest.mark.parametrize(
    "name",
    ["make_trainer", "actors", "num_cpus", "num_gpus", "address", "retries", "time_limit"],
)
def test_a_setting_is_given_once(name: str) -> None:
    executor = RayExecutor(NoisyQuadratic)
    before = getattr(executor, name)
    with raises(SettingsError):
        setattr(executor, name, 3)
    assert getattr(executor, name) is before


@pytest.mark.parametrize("mode", [None, "token", "disabled"])
def test_a_ray_that_lets_everybody_in_is_spoken_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mode: str | None
) -> None:
    monkeypatch.setattr(errors, "_given", set())
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with warnings.catch_warnings(record=True) as caught, caplog.at_level("INFO", logger="dynhp"):
        warnings.simplefilter("always")
        cluster.say_who_gets_in()
    assert "listens on all addresses of this machine" in caplog.text
    hints = [str(each.message) for each in caught]
    assert len(hints) == (mode == "disabled")
    assert all("with RAY_AUTH_MODE='disabled' it may let in who has no token" in h for h in hints)
