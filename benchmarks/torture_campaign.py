"""Campaigns killed with SIGKILL at random moments and resumed until done: all must end the same."""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _forks import forked

from dynhp.campaign import product, run_campaign
from dynhp.campaign.data import canonical

WORKERS = 2
MOST = 20  # kills of one campaign
STARTING = 1.5  # seconds in which a campaign begins to work: kills fall into these, too
MARK = "DYNHP_TORTURED"


def trained(*, method: str, seed: int) -> dict[str, Any]:
    """A run of some milliseconds: one in ten has a line of a megabyte, one in twelve fails."""
    with open(os.environ["DYNHP_BEGUN"], "ab", buffering=0) as notes:
        start = os.environ["DYNHP_START"]
        notes.write(f"{start} {canonical({'method': method, 'seed': seed})}\n".encode())
    rng = random.Random(f"{method}-{seed}")
    time.sleep(rng.uniform(0.005, 0.03))
    if seed % 12 == 11:
        raise FloatingPointError(f"bad luck with {method}")
    return {"auc": rng.random(), "curve": ["#" * (1_000_000 if seed % 10 == 3 else 100)]}


@dataclass(slots=True)
class CampaignKills:
    """What was done to the campaigns."""

    kills: int = 0
    in_an_append: int = 0
    again: int = 0


class KilledCampaign:
    """A campaign in a folder that is started again and again."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.runs = product(method=["grid", "random"], seed=range(runs // 2))
        self.ledger = folder / "results.jsonl"
        self.table = folder / "results.csv"
        self.begun = folder / "begun"
        self.starts = 0
        folder.mkdir()
        self.begun.touch()

    def started(self) -> int:
        """Start it in a process of its own, and give its id."""
        self.starts += 1
        return forked(self._run)

    def _run(self) -> None:
        os.environ |= {"DYNHP_START": str(self.starts), "DYNHP_BEGUN": str(self.begun)}
        run_campaign(trained, self.runs, folder=self.ledger.parent, workers=WORKERS)

    def ended(self) -> bool:
        """Start it and let it end; whether it ended well."""
        _, status = os.waitpid(self.started(), 0)
        return status == 0

    def size(self) -> int:
        """The bytes of its results."""
        return self.ledger.stat().st_size if self.ledger.exists() else 0

    def done(self) -> set[str]:
        """The runs whose results are there, on whole lines."""
        *lines, _ = self.ledger.read_bytes().split(b"\n") if self.ledger.exists() else [b""]
        runs = map(json.loads, lines[1:])
        return {canonical(run["settings"]) for run in runs if "result" in run}

    def begun_in(self, start: int) -> list[str]:
        """The runs that were begun after this start."""
        notes = (line.split(" ", 1) for line in self.begun.read_text().splitlines())
        return [key for number, key in notes if number == str(start)]


def tortured(campaign: KilledCampaign, kills: int, size: int, total: CampaignKills) -> None:
    """Kill a campaign that often, at moments over all of its length, then let it end."""
    done: list[set[str]] = []
    for left in range(kills, 0, -1):
        done.append(campaign.done())
        bytes_left = size - campaign.size()
        step = min(0.9 * bytes_left, 2 * bytes_left / (left + 1))
        if not killed(campaign, campaign.size() + random.uniform(0, step)):
            break  # it ended before it was killed
        total.kills += 1
        total.in_an_append += campaign.size() > 0 and not _is_whole(campaign.ledger)
    done.append(campaign.done())
    assert campaign.ended(), "a resumed campaign failed"
    for start, before in enumerate(done, start=1):
        assert before.isdisjoint(campaign.begun_in(start)), "a run was carried out again"
    failing = sum(run["seed"] % 12 == 11 for run in campaign.runs) * campaign.starts
    again = len(campaign.begun.read_text().splitlines()) - len(campaign.runs)
    assert again <= 2 * WORKERS * campaign.starts + failing, f"{again} runs were begun again"
    total.again += again


def killed(campaign: KilledCampaign, size: float) -> bool:
    """Kill it soon after a start, or when so many bytes are written; unless it is over."""
    child = campaign.started()
    seconds = random.uniform(0, STARTING) if random.random() < 0.3 else math.inf
    end = time.monotonic() + seconds
    while campaign.size() < size and time.monotonic() < end and not _is_over(child):
        time.sleep(0.0001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), "a resumed campaign failed"
    return status != 0


def _is_over(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _is_whole(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def orphans() -> list[int]:
    """The processes that carry the mark, except this one; on Linux."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    marked = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environ.read_bytes().split(b"\0"):
                marked.append(int(environ.parent.name))
        except OSError:  # it has just ended, or is of another user
            continue
    return [pid for pid in marked if pid != os.getpid()]


def wait_for_orphans() -> None:
    """Wait until the processes that were left alone have ended, and after a while say for which."""
    looks = 0
    while left := orphans():
        looks += 1
        if looks == 600:
            print(f"still waiting for the orphans {left} to end", file=sys.stderr)
        time.sleep(0.1)


def main() -> int:
    """Torture campaigns, print how they ended, and fail where one ended otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--runs", type=int, default=120, help="in each campaign")
    parser.add_argument("--seed", type=int, default=None, help="of the moments of the kills")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    total, same = CampaignKills(), []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        os.environ[MARK] = name  # what is started from here has it, too
        undisturbed = KilledCampaign(Path(name, "undisturbed"), arguments.runs)
        assert undisturbed.ended(), "an undisturbed campaign failed"
        assert len(undisturbed.begun_in(1)) == len(undisturbed.runs)
        while total.kills < arguments.kills:
            campaign = KilledCampaign(Path(name, f"tortured-{len(same)}"), arguments.runs)
            tortured(campaign, min(MOST, arguments.kills - total.kills), undisturbed.size(), total)
            same.append(campaign.table.read_bytes() == undisturbed.table.read_bytes())
        wait_for_orphans()
    print(
        f"{sum(same)} of {len(same)} tables of {arguments.runs} runs are byte-identical to the "
        f"undisturbed one; {total.kills} kills, {total.in_an_append} in the middle of a line; no "
        f"run with a result was carried out again, {total.again} under way or failed were; "
        f"no orphan is left; {time.perf_counter() - began:.0f} s"
    )
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
