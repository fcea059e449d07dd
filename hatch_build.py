"""Which packages go into the wheel: the core, and every integration that has a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FindIntegrations(BuildHookInterface[Any]):
    """Adds ``integrations/<name>/dynhp_<name>`` to the wheel, so that no list has to name them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Complete the list of packages before hatchling reads it."""
        integrations = sorted(Path(self.root).glob("integrations/*/dynhp_*/__init__.py"))
        packages = [path.parent.relative_to(self.root).as_posix() for path in integrations]
        self.build_config.target_config["packages"] = ["dynhp", *packages]
