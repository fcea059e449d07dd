"""A fit in a file: the model, the generators and the rounds, after each epoch of the main line."""

from __future__ import annotations

from typing import Any

from dynhp.errors import SettingsError
from dynhp.loops import LoopDriver
from dynhp.storage.codecs.state_file import read_state, write_state
from dynhp.storage.files import require_path, write_atomically

__all__ = ["FitFile"]


class FitFile:
    """The file of a fit that goes on where it was killed.

    >>> FitFile("nothing-is-here.zip").exists
    False
    """

    def __init__(self, path: Any) -> None:
        self.path = require_path("checkpoint", path)

    @property
    def exists(self) -> bool:
        """Whether a fit was saved here."""
        return self.path.exists()

    def save(self, run: LoopDriver, first: int) -> None:
        """Save after an epoch of the main line was reported and before the loop moves on."""
        assert run.epoch is not None
        parts = run.loop.parts.get_state()
        done = int(run.epoch) + 1
        state = {"first": first, "done": done, "loop": run.state_dict(), "state": parts}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, lambda file: write_state(state, file), durable=True)

    def load(self, run: LoopDriver, first: int) -> int:
        """Go on from there, in a fit with this first epoch; gives the epochs that are done."""
        with self.path.open("rb") as file:
            saved = read_state(file)
        if not isinstance(saved, dict) or set(saved) - {"first"} != {"done", "loop", "state"}:
            raise SettingsError(f"{self.path} holds no fit; give checkpoint= another name")
        if saved.get("first", first) != first:
            raise SettingsError(
                f"{self.path} holds a fit that began with epoch {saved['first']}, and this one has "
                f"initial_epoch={first}: it is another fit; give checkpoint= another name"
            )
        run.load_state_dict(saved["loop"])
        run.loop.parts.set_state(saved["state"])
        return int(saved["done"])
