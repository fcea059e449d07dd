"""Reading what ``tests/fixtures/before_layout`` holds, and comparing ends with it bit for bit."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from dynhp import DynamicGridAdapter
from dynhp.storage.checkpoint import resume
from dynhp.storage.codecs import encode
from tests.support.resuming import without_times

OLD = Path(__file__).resolve().parents[1] / "fixtures" / "before_layout"


def end_of(run: str) -> dict[str, Any]:
    """How the undisturbed run ended, with the code of before."""
    end: dict[str, Any] = json.loads((OLD / run / "end.json").read_text())
    return end


def copied(what: str, tmp_path: Path) -> Path:
    """A copy of an old folder, to go on in."""
    return Path(shutil.copytree(OLD / what, tmp_path / "copy"))


def gone_on_with(run: str, where: str, adapter: DynamicGridAdapter, tmp_path: Path) -> Any:
    """The end of an old run, broken off ``between`` rounds or in the ``middle`` of one."""
    history = resume(copied(f"{run}/{where}", tmp_path), adapter)
    trainer: Any = adapter.trainer
    return {
        "history": without_times(history),
        "state": digest(trainer.get_state()),
        "calls": trainer.calls,
    }


def end_after(run: str, where: str) -> dict[str, Any]:
    """What ``gone_on_with`` gave with the code of before; no try that is on file is trained."""
    end = end_of(run)
    return {"history": end["history"], "state": end["state"], "calls": end["calls"][where]}


def digest(state: Any) -> str:
    """Names a state by its bits."""
    return hashlib.sha256(encode(state)).hexdigest()
