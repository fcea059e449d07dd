"""``dynhp plan``: its numbers are those of ``plan``, and what it recommends fits."""

from __future__ import annotations

import re

import pytest

from dynhp import Racing, plan
from dynhp.cli.main import main


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["plan", *arguments]) == 0
    return capsys.readouterr().out


def test_one_pair_is_what_plan_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--epochs", "500", "--candidates", "9", "--adapt-every", "10", "--try-for", "1"]
    cost = plan(epochs=500, adapt_every=10, try_for=1, candidates=9)
    assert printed(capsys, *words) == f"{cost}\n"
    cost = plan(epochs=500, adapt_every=10, try_for=1, candidates=9, check="every")
    assert printed(capsys, *words, "--check", "every") == f"{cost}\n"
    raced = [
        "--epochs",
        "80",
        "--candidates",
        "5",
        "--adapt-every",
        "20",
        "--try-for",
        "10",
        "--racing",
    ]
    cost = plan(epochs=80, adapt_every=20, try_for=10, candidates=5, selection=Racing(every=2))
    assert printed(capsys, *raced, "--racing") == f"{cost}\n"


@pytest.mark.parametrize("racing", [False, True])
def test_every_row_is_what_plan_says(racing: bool, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--racing"] if racing else []
    table = printed(capsys, "--epochs", "500", "--candidates", "9", *more)
    rows = [line.split() for line in table.splitlines()[1:]]
    assert len(rows) == (6 if racing else 12)
    for every, length, rounds, raced, overhead, total, runs in rows:
        cost = plan(
            epochs=500,
            adapt_every=int(every),
            try_for=int(length),
            candidates=9,
            selection=Racing(every=max(1, int(length) // 4)) if raced == "yes" else None,
        )
        assert (cost.overhead, cost.total) == (int(overhead), int(total))
        assert (f"{cost.runs:.2f}", int(rounds)) == (runs, -(-500 // int(every)))


@pytest.mark.parametrize("overhead", [0.5, 1.0, 2.0, 6.0])
@pytest.mark.parametrize(("epochs", "candidates"), [(500, 9), (40, 5), (80, 3)])
def test_what_is_recommended_fits_and_follows_the_rule(
    overhead: float, epochs: int, candidates: int, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--epochs", str(epochs), "--candidates", str(candidates)]
    last = printed(capsys, *sizes, "--overhead", str(overhead)).splitlines()[-1]
    match = re.match(
        r"Recommended: adapt_every=(\d+), try_for=(\d+)(?:, selection=Racing\(every=(\d+)\))?", last
    )
    assert match, last
    every, length = int(match[1]), int(match[2])
    cost = plan(
        epochs=epochs,
        adapt_every=every,
        try_for=length,
        candidates=candidates,
        selection=Racing(every=int(match[3])) if match[3] else None,
    )
    assert cost.overhead <= overhead * epochs
    assert 4 <= -(-epochs // every) <= 8
    assert f"{cost.runs:.2f} runs" in last
    assert ("would be safer" in last) == (2 * length < every - 1)


def test_where_nothing_fits_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--epochs", "40", "--candidates", "50", "--overhead", "0.5", "--racing"]
    last = printed(capsys, *words).splitlines()[-1]
    assert last.startswith("Nothing that is worth a try fits 0.5 runs")
    assert ": 4 rounds with tries of one epoch cost" in last
    assert last.endswith("Take fewer candidates.")
    for epochs, rounds in (("3", "3 rounds"), ("1", "1 round")):
        short = ["--epochs", epochs, "--candidates", "50", "--overhead", "0.5"]
        assert f": {rounds} with tries of one epoch cost" in printed(capsys, *short)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--epochs 0 --candidates 3", "--epochs"),
        ("--epochs 9 --candidates 0", "--candidates"),
        ("--epochs 9 --candidates 3 --try-for 2", "go together"),
        ("--epochs 9 --candidates 3 --adapt-every 2 --try-for 3", "try_for"),
        ("--epochs 9 --candidates 3 --overhead 0", "--overhead must be above 0"),
        (
            "--epochs 9 --candidates 3 --adapt-every 3 --try-for 1 --overhead 1",
            "--overhead asks for lengths that fit, but --adapt-every and --try-for give them",
        ),
    ],
)
def test_what_cannot_be_planned(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words.split()]) == 2
    assert message in capsys.readouterr().err
