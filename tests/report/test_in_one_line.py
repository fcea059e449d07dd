"""A page in one line, a history in a notebook, dry runs called so, and savings that are true."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, plan_for, spent
from dynhp.records import History
from dynhp.records.history import DRY_RUN
from dynhp.records.provenance import command_here
from dynhp.report import signal_of, summary
from dynhp.report.notebook import history_html
from dynhp.testing import Quadratic
from dynhp.triggers import At


def adapter_of(**settings: Any) -> DynamicGridAdapter:
    known = {"minimize": "loss", "adapt_every": 20, "try_for": 5, "initial": {"lr": 0.5}}
    return DynamicGridAdapter(Quadratic(), {"lr": [0.001, 0.5, 0.01]}, **{**known, **settings})


@pytest.mark.parametrize("initial", [0.5, 0.01])
def test_what_is_said_to_be_saved_is_what_one_round_saves(initial: float) -> None:
    history = adapter_of(initial={"lr": initial}).run(100)
    one = adapter_of(initial={"lr": initial}, max_rounds=1).run(100)
    signal = signal_of(history)
    assert signal.saving == spent(history).total - spent(one).total == 40
    assert "one round alone would have saved 40 epochs of 160." in signal.advice


def test_a_dry_run_is_called_one() -> None:
    adapter = adapter_of(dry_run=True, initial={"lr": 0.01})  # 0.5 is better by far
    history = adapter.run(100)
    assert {round_.reason for round_ in history} == {DRY_RUN}
    signal = signal_of(history)
    assert signal.headline == "A dry run: lr=0.01 was kept, whatever the tries said."
    without = spent(history).main_line
    assert signal.saving == spent(history).total - without
    said = " ".join([signal.headline, signal.advice, summary(history), str(history)])
    assert "margin" not in said
    assert "stayed the best" not in said
    assert signal_of(adapter_of().run(100)).headline.endswith("stayed the best.")


def test_a_dry_run_that_goes_on_in_the_middle_of_a_round_is_called_one() -> None:
    def loop_of(model: Quadratic) -> Any:
        return adapt(6, state=[model], space={"lr": [0.1, 0.5]}, minimize="loss", adapt_every=6,
                     try_for=1, dry_run=True, initial={"lr": 0.1})  # fmt: skip

    model = Quadratic()
    loop = loop_of(model)
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(loss=model.metrics()["loss"])
        if epoch.main and epoch == 3:
            saved = loop.state_dict(), model.get_state()
    again = Quadratic()
    rest = loop_of(again)
    rest.load_state_dict(saved[0])
    again.set_state(saved[1])
    for epoch in rest:
        again.train_k(1, epoch.values)
        epoch.report(loss=again.metrics()["loss"])
    assert rest.history == loop.history


def test_a_page_in_one_line_has_all_that_is_known(tmp_path: Path) -> None:
    adapter = adapter_of()
    adapter.report(tmp_path / "early.html")  # before the first round: no length is known
    adapter.run(40)
    adapter.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "<h1>run</h1>" in page
    assert str(plan_for(adapter_of(), 40)) in page
    for known in ("python", escape(command_here()), "numpy", "adapt_every"):
        assert known in page
    model = Quadratic()
    loop = adapt(steps=6, state=[model], space={"lr": [0.1, 0.5]}, minimize="loss", adapt_every=3,
                 try_for=1)  # fmt: skip
    for step in loop:
        model.train_k(1, step.values)
        step.report(loss=model.metrics()["loss"])
    loop.report(str(tmp_path / "loop.html"), title="Mine <&>")
    page = (tmp_path / "loop.html").read_text()
    assert "<h1>Mine &lt;&amp;&gt;</h1>" in page
    assert "6 steps" in page


def test_a_history_shows_itself_in_a_notebook() -> None:
    adapter = adapter_of(initial={"lr": 0.01})
    assert History(())._repr_html_() == "<p>no rounds yet</p>"
    adapter.run(60)
    html = adapter.history._repr_html_()
    picture, table = html.split("<table>")
    root = ET.fromstring(picture)
    texts = [each.text for each in root.iter("text")]
    assert texts == ["lr", "0.5", "0.01", "0.001", "0", "60 epochs"]
    assert len(list(root.iter("circle"))) == 9
    [line] = root.iter("polyline")
    assert len(line.attrib["points"].split()) == 6
    rows = ET.fromstring(f"<table>{table}")
    assert len(list(rows.iter("tr"))) == 4
    assert "script" not in html


def test_long_and_awkward_histories_are_shown_too() -> None:
    space = {"way": ["<b>", "\x1b[2J"], "lr": [0.01 * n for n in range(1, 30)]}

    class Ways(Quadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            super().train_k(k, {"lr": hyperparameters["lr"]})

        def hyperparameters(self) -> dict[str, Any]:
            return {}

    adapter = DynamicGridAdapter(Ways(), space, minimize="loss", when=At(range(0, 60, 2)),
                                 try_for=1, check="off")  # fmt: skip
    adapter.run(80, at_most=None)
    html = history_html(adapter.history)
    assert "rounds more" in html
    assert "&lt;b&gt;" in html
    assert "\x1b" not in html
    assert html.count("<svg") == 2
    back = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=2,
                              try_for=1, start_from="best", max_rounds=3)  # fmt: skip
    assert history_html(back.run(8))


def test_a_round_that_was_left_behind_is_no_part_of_the_line() -> None:
    first, second = adapter_of().run(40)
    kept = replace(second, start=0, abandoned=first.epochs)
    root = ET.fromstring(history_html([first, kept]).split("<table>")[0])
    [line] = root.iter("polyline")
    assert len(line.attrib["points"].split()) == 2, "that of the second alone"
