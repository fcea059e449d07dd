"""A run over steps is told in steps wherever it is shown; what older files hold is epochs."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dynhp import KeepBest, adapt, lowest, plan_for, spent
from dynhp.cli.main import main
from dynhp.errors import DamagedFile
from dynhp.loops import Loop
from dynhp.planning.rates import rate_search
from dynhp.records import History, Round
from dynhp.records.plain import history_from_plain, history_to_plain
from dynhp.report import LiveDisplay, html_report, signal_of, summary
from dynhp.report.page import ReportedRun, report_page
from dynhp.report.page.sections import status_of
from dynhp.storage.journal import Journal, read_journal
from dynhp.testing import NoisyQuadratic
from dynhp.trainer import trained_unit
from tests.support.messages import raises


def trained(path: Path | None = None, *, steps: int = 40, **more: Any) -> Loop:
    model = NoisyQuadratic(seed=3)
    given: dict[str, Any] = {"adapt_every": 10, "try_for": 4, "check": "off"} | more
    if path is not None:
        given["callbacks"] = [Journal(path)]
    loop = adapt(
        steps=steps, state=[model], space={"lr": [0.01, 0.1, 0.3]}, minimize="loss", **given
    )
    for step in loop:
        model.train_k(1, step.values)
        if step % 2:
            step.report(loss=model.metrics()["loss"])
    return loop


@pytest.fixture(scope="module")
def loop() -> Loop:
    return trained()


def speaks_of_steps(text: str) -> bool:
    assert not re.search("epoch", text, re.IGNORECASE), text
    return "step" in text


def test_the_records_carry_the_word_and_print_it(loop: Loop) -> None:
    round_ = loop.history[0]
    assert loop.history.unit == round_.unit == round_.winner.unit == round_.winner.own.unit
    for record in (loop.history, round_, round_.winner):
        assert speaks_of_steps(str(record))
    assert "unit" not in repr(loop.history)
    longer = [replace(round_, tries=(), chosen=-1)] * 2
    assert speaks_of_steps(str(History(tuple(longer))))


def test_plan_cost_and_the_loop_itself_speak_of_steps(loop: Loop) -> None:
    for text in (plan_for(loop), spent(loop), loop, summary(loop.history), rate_search(loop)):
        assert speaks_of_steps(str(text))
    assert spent(loop).unit == "steps"


def test_a_failed_try_trained_fewer_steps(loop: Loop) -> None:
    tries = loop.history[0].tries
    failed = replace(tries[0], error="broke", score=float("nan"))
    other = replace(loop.history[0], tries=(failed, *tries[1:]), chosen=1)
    assert "fewer steps than planned" in summary([other])


def test_the_page_speaks_of_steps(loop: Loop) -> None:
    page = html_report(
        loop.history, title="Run", plan=plan_for(loop), settings=loop.adapter.described
    )
    text = page.partition("<main>")[2].partition("<script")[0]
    schedule = re.search("<details>.*</details>", text, re.DOTALL)  # a file format of its own
    assert schedule is not None
    assert speaks_of_steps(text.replace(schedule[0], ""))
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["runs"][0]["unit"] == "steps"


def test_of_what_has_no_round_yet_the_page_says_what_was_planned() -> None:
    run = ReportedRun(name="new", history=(), epochs=40, unit="steps")
    assert status_of(run) == "step 0 of 40: going on, or broken off"
    assert speaks_of_steps(status_of(replace(run, epochs=None)))
    assert speaks_of_steps(status_of(replace(run, epochs=0)))


def test_runs_of_both_kinds_stand_side_by_side_each_in_its_own_word(loop: Loop) -> None:
    epochs = History(tuple(replace(round_, unit="epochs") for round_ in loop.history))
    settings = {"criterion": "lowest('loss')"}
    runs = [
        ReportedRun(name=name, history=history, settings=settings)
        for name, history in (("a", loop.history), ("b", epochs))
    ]
    page = report_page(runs, title="Both")
    assert [run.unit for run in runs] == ["steps", "epochs"]
    assert re.search(r"at step \d+</td>.*at epoch \d+</td>", page, re.DOTALL)


def rounds_like(loop: Loop, count: int, **changes: Any) -> list[Round]:
    round_ = replace(loop.history[0], **changes)
    return [replace(round_, index=n, start=10 * n) for n in range(count)]


def test_advice_names_its_saving_in_steps(loop: Loop) -> None:
    untried = rounds_like(loop, 2, tries=(), chosen=-1)
    rescued = rounds_like(loop, 1, rescue=True)
    first, *rest = rounds_like(loop, 9)
    settled = [first, *(replace(each, previous=each.candidate) for each in rest)]
    for history in (loop.history, untried, rescued, settled):
        signal = signal_of(history)
        assert not re.search("epoch", f"{signal.headline} {signal.advice}")
    assert speaks_of_steps(signal_of(untried).headline)
    assert speaks_of_steps(signal_of(rescued).advice)
    assert "since step 0" in signal_of(settled).advice


def test_pictures_have_steps_on_their_axis(loop: Loop) -> None:
    pytest.importorskip("matplotlib").use("agg")
    plots = pytest.importorskip("dynhp.report.plots")
    for plot in (plots.plot_schedule, plots.plot_tries, plots.plot_cost):
        assert plot(loop).get_xlabel() == "steps"


def test_lines_of_the_live_view_speak_of_steps() -> None:
    stream = io.StringIO()
    trained(progress=LiveDisplay(stream=stream))
    assert speaks_of_steps(stream.getvalue())


def test_a_journal_carries_the_word_to_its_table_and_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = trained(tmp_path / "run.jsonl")
    content = read_journal(tmp_path / "run.jsonl")
    assert content.history == loop.history
    assert content.about["unit"] == content.history.unit == content.history[0].tries[0].unit
    assert content.history.unit == "steps"
    assert main(["journal", str(tmp_path / "run.jsonl")]) == 0
    assert speaks_of_steps(capsys.readouterr().out)
    assert main(["report", str(tmp_path / "run.jsonl"), "-o", str(tmp_path / "run.html")]) == 0
    page = (tmp_path / "run.html").read_text()
    assert "finished, 40 steps" in page
    assert f"Plan: {plan_for(trained(steps=40))}." in page


def test_a_journal_of_before_is_of_epochs(tmp_path: Path) -> None:
    trained(tmp_path / "new.jsonl")
    text = (tmp_path / "new.jsonl").read_text()
    assert text.count('"unit":"steps"') == text.count("\n") - 1 - text.count('"round_started"')
    (tmp_path / "old.jsonl").write_text(text.replace(',"unit":"steps"', ""))
    old = read_journal(tmp_path / "old.jsonl")
    assert (old.about["unit"], old.history.unit) == ("epochs", "epochs")
    assert old.history == read_journal(tmp_path / "new.jsonl").history  # the word is not compared
    (tmp_path / "bad.jsonl").write_text(text.replace('"steps"', '"<b>"', 1))
    with raises(DamagedFile):
        read_journal(tmp_path / "bad.jsonl")


def test_epochs_are_written_as_they_always_were(loop: Loop) -> None:
    plain = history_to_plain(loop.history)
    assert {each["unit"] for each in plain} == {"steps"}
    assert history_from_plain(plain).unit == "steps"
    for round_ in plain:
        for record in (round_, *round_["tries"]):
            del record["unit"]
    back = history_from_plain(plain)
    assert back.unit == "epochs"
    assert history_to_plain(back) == plain


def test_a_trainer_may_say_that_it_counts_steps() -> None:
    class Stepwise(NoisyQuadratic):
        unit = "steps"

    class Layered(NoisyQuadratic):
        unit = 64

    assert trained_unit(KeepBest(Stepwise(), lowest("loss"))) == "steps"
    assert trained_unit(Layered()) == trained_unit(NoisyQuadratic()) == "epochs"
