"""The page in a real browser: it draws, it can be pointed at and walked through, nothing is run.

``make test-report`` runs it; without DYNHP_BROWSER, the name of a Chromium, it is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynhp import (
    DynamicGridAdapter,
    Float,
    History,
    adapt,
    fixed,
    lowest,
    plan_for,
    recommended,
    rescue,
    trainer_from,
)
from dynhp.campaign.results import Finished
from dynhp.report import html_report, write_html
from dynhp.report.page import ReportedCampaign, ReportedRun, report_page
from dynhp.tails import scale
from dynhp.testing import NoisyQuadratic
from tests.support.browser import Browser, browser
from tests.support.reference import Toy

PROGRAM = os.environ.get("DYNHP_BROWSER", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="needs a browser: make test-report")

EVIL = (
    "<script>window.harm = 1</script>",
    '"><img src=x onerror="window.harm=1">',
    "</script><!--",
)


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(PROGRAM, tmp_path_factory.mktemp("profile")) as made:
        yield made


def noisy(seed: int = 3, epochs: int = 100, **more: Any) -> DynamicGridAdapter:
    space = {"lr": Float(0.001, 1.0, log=True, points=7)}
    adapter = DynamicGridAdapter(
        NoisyQuadratic(noise=0.5, seed=seed), space, criterion=lowest("loss"), adapt_every=10,
        try_for=2, initial={"lr": 0.1}, **more,
    )  # fmt: skip
    adapter.run(epochs)
    return adapter


def one_run(path: Path) -> Path:
    adapter = noisy()
    plan = plan_for(noisy(epochs=10), 100)
    write_html(
        path, html_report(adapter.history, title="Demo", plan=plan, settings=adapter.described)
    )
    return path


def is_clean(window: Browser) -> bool:
    asked = [url for url in window.requested if not url.startswith(("file:", "about:"))]
    assert window.logged == []
    assert asked == []
    return True


def drawn(window: Browser, selector: str) -> int:
    """How many dots of a canvas have ink."""
    count = window.js(
        f"(() => {{ const c = document.querySelector('{selector}');"
        "const o = new OffscreenCanvas(c.width, c.height).getContext('2d',"
        "{willReadFrequently: true}); o.drawImage(c, 0, 0);"
        "const d = o.getImageData(0, 0, c.width, c.height).data; let n = 0;"
        "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
    )
    return int(count)


def tip(window: Browser) -> str:
    return str(window.js("(t => t.hidden ? '' : t.textContent)(document.getElementById('tip'))"))


def view(window: Browser) -> Any:
    return window.js("history.state && history.state.dynhp && history.state.dynhp.view")


@pytest.mark.parametrize("look", [{}, {"dark": True}, {"width": 390, "height": 800}])
def test_it_draws_without_errors_and_fits_the_window(
    look: dict[str, Any], window: Browser, tmp_path: Path
) -> None:
    window.open(one_run(tmp_path / "page.html"), **look)
    for part in ("schedule", "tries", "metrics"):
        window.box(f"#{part} canvas")
        assert drawn(window, f"#{part} canvas") > 1000
    wide = look.get("width", 1200)
    assert window.js("document.documentElement.scrollWidth") == wide
    assert is_clean(window)


def test_pointing_at_a_chart_shows_values_and_leaving_it_hides_them(
    window: Browser, tmp_path: Path
) -> None:
    window.open(one_run(tmp_path / "page.html"))
    for part, words in (("schedule", "from epoch"), ("tries", "margin"), ("metrics", "epoch")):
        x, y, width, height = window.box(f"#{part} canvas.over")
        window.mouse("mouseMoved", x + width / 2, y + height / 2)
        assert words in tip(window)
        window.mouse("mouseMoved", x + width / 2, y - 60)
        assert tip(window) == ""
    assert is_clean(window)


def test_zoom_by_dragging_by_the_wheel_and_back(window: Browser, tmp_path: Path) -> None:
    window.open(one_run(tmp_path / "page.html"))
    x, y, *_ = window.box("#tries canvas.over")
    down = {"button": "left", "buttons": 1, "clickCount": 1}
    window.mouse("mouseMoved", x + 300, y + 100)
    window.mouse("mousePressed", x + 300, y + 100, **down)
    window.mouse("mouseMoved", x + 600, y + 100, **down)
    window.mouse("mouseReleased", x + 600, y + 100, **down)
    low, high = view(window)
    assert 0 < low < high < 100
    window.mouse("mouseWheel", x + 400, y + 100, deltaX=0, deltaY=-300, modifiers=2)
    closer = view(window)
    assert low <= closer[0] < closer[1] <= high
    assert closer[1] - closer[0] < high - low
    for count in (1, 2):
        window.mouse("mousePressed", x + 400, y + 100, button="left", clickCount=count)
        window.mouse("mouseReleased", x + 400, y + 100, button="left", clickCount=count)
    assert view(window) is None
    assert is_clean(window)


def test_the_keyboard_reaches_points_and_series(window: Browser, tmp_path: Path) -> None:
    window.open(one_run(tmp_path / "page.html"))
    window.js("document.querySelector('#tries canvas.over').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        window.key(key)
        seen.append(tip(window))
    assert all("Round" in text for text in seen)
    assert len(set(seen)) == 4
    window.key("Enter")
    assert "Round 1," in window.js("document.getElementById('round').textContent")
    window.key("+")
    assert view(window) is not None
    window.key("Escape")
    assert tip(window) == ""
    window.key("Escape")
    assert view(window) is None
    window.js("document.querySelector('#tries button.key').focus()")
    before = drawn(window, "#tries canvas")
    window.key("Enter")
    pressed = "document.querySelector('#tries button.key').getAttribute('aria-pressed')"
    assert window.js(pressed) == "false"
    window.settle()
    assert drawn(window, "#tries canvas") != before
    assert is_clean(window)


def test_a_chart_that_is_not_drawn_yet_can_have_the_focus(window: Browser, tmp_path: Path) -> None:
    window.open(one_run(tmp_path / "page.html"), height=300)
    last = "[...document.querySelectorAll('canvas.over')].at(-1)"
    assert window.js(f"{last}.previousSibling.width") == 300  # as a canvas is made
    focused = f"({last}.focus({{preventScroll: true}}), document.activeElement === {last})"
    window.key("Tab")  # focus by the keyboard is shown
    assert window.js(focused)
    assert "steps" in tip(window)
    for key in ("ArrowRight", "+", "Escape"):
        window.key(key)
    assert is_clean(window)


def tap(window: Browser, x: float, y: float) -> None:
    window.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    window.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    window.settle()


def test_a_tap_shows_values_and_opens_the_round(window: Browser, tmp_path: Path) -> None:
    window.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
    try:
        window.open(one_run(tmp_path / "page.html"), width=390, height=800)
        opened = "document.querySelector('#round b').textContent"
        x, y, width, height = window.box("#tries canvas.over")
        seen = []
        for share in (0.3, 0.7):
            tap(window, x + share * width, y + height / 2)
            seen.append(window.js(opened))
            assert tip(window).startswith(seen[-1])
        assert len(set(seen)) == 2
        x, y, width, height = window.box("#metrics canvas.over")
        tap(window, x + 0.5 * width, y + height / 2)
        assert "loss, epoch" in tip(window)
        x, y, *_ = window.box("#signal h2")
        tap(window, x + 5, y + 5)
        assert tip(window) == ""
    finally:
        window.call("Emulation.setTouchEmulationEnabled", enabled=False)
    assert is_clean(window)


def test_a_page_that_loads_itself_again_keeps_zoom_and_place(
    window: Browser, tmp_path: Path
) -> None:
    run = ReportedRun(name="on", history=noisy().history, epochs=200)
    write_html(tmp_path / "page.html", report_page([run], title="first", reload=1.0))
    window.open(tmp_path / "page.html")
    window.js("document.querySelector('#tries canvas.over').focus()")
    window.key("+")
    zoomed = view(window)
    window.key("Escape")
    window.js("scrollTo(0, 500)")
    write_html(tmp_path / "page.html", report_page([run], title="second"))
    window.until("document.title === 'second' && document.readyState === 'complete'")
    assert view(window) == zoomed
    assert window.js("scrollY") == 500
    assert is_clean(window)


def test_no_name_or_text_is_taken_for_markup(window: Browser, tmp_path: Path) -> None:
    def step(k: int, values: Any) -> None:
        if values[EVIL[1]] == 3:
            raise RuntimeError(EVIL[0])

    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=step,
        metrics=lambda: dict.fromkeys(EVIL, 0.5),
    )
    adapter = DynamicGridAdapter(
        trainer, {EVIL[1]: [1, 2, 3]}, maximize=EVIL[0], adapt_every=2, try_for=1, check="off"
    )
    history = adapter.run(8)
    runs = [
        ReportedRun(
            name=name,
            history=history,
            command=name,
            settings={name: name},
            facts={name: name},
            hints=[name],
            versions={name: name},
        )
        for name in EVIL
    ]
    ended = [Finished(settings={EVIL[0]: EVIL[1], "seed": 0}, result=None, error=EVIL[0])]
    ended.append(Finished(settings={EVIL[0]: EVIL[1], "seed": 1}, result={EVIL[1]: 0.5}))
    page = report_page(runs, title=EVIL[2], campaigns=[ReportedCampaign(name=EVIL[0], runs=ended)])
    write_html(tmp_path / "page.html", page)
    window.open(tmp_path / "page.html")
    for part in ("schedule", "tries", "metrics"):
        x, y, width, height = window.box(f"#{part} canvas.over")
        window.mouse("mouseMoved", x + width / 2, y + height / 2)
        assert tip(window)
    assert window.js("typeof window.harm") == "undefined"
    assert window.js("document.querySelectorAll('img').length") == 0
    assert window.js("document.querySelectorAll('script').length") == 2
    assert EVIL[0] in window.js("document.getElementById('round').textContent")
    assert is_clean(window)


def rescued() -> History:
    trainer = Toy(2, raising=[0.3])
    adapter = DynamicGridAdapter(trainer, **rescue("lr", default=0.3, loss="loss", factor=2.0))
    return adapter.run(30)


def test_runs_side_by_side_by_epoch_and_by_cost(window: Browser, tmp_path: Path) -> None:
    runs = [
        *(ReportedRun(name=f"seed {n}", history=noisy(n).history) for n in range(2)),
        ReportedRun(name="rescued", history=rescued()),
        ReportedRun(name="empty", history=()),
    ]
    write_html(tmp_path / "page.html", report_page(runs, title="Four"))
    window.open(tmp_path / "page.html")
    window.js("[...document.querySelectorAll('#bar button')][1].click()")
    window.js("(s => { s.value = '2'; s.onchange() })(document.querySelector('#bar select'))")
    for part in ("schedule", "tries", "metrics"):
        x, y, width, height = window.box(f"#{part} canvas.over")
        window.mouse("mouseMoved", x + width / 3, y + height / 2)
        assert tip(window)
    assert "rescued" in window.js("document.getElementById('tries').textContent")
    assert window.js("document.querySelector('#round b').textContent").startswith("rescued: round ")
    assert "rounds of rescued" in window.js("document.getElementById('rounds').textContent")
    window.box("#tries canvas.over")
    window.js("document.querySelector('#tries canvas.over').focus()")
    window.key("ArrowRight")
    assert tip(window).startswith("rescued: round ")
    window.js("(s => { s.value = '3'; s.onchange() })(document.querySelector('#bar select'))")
    assert is_clean(window)


def test_a_run_whose_value_was_given_shows_no_tries(window: Browser, tmp_path: Path) -> None:
    given = fixed(NoisyQuadratic(), {"lr": 0.1}, epochs=40, measure_every=10)
    write_html(tmp_path / "page.html", html_report(given, title="Given"))
    window.open(tmp_path / "page.html")
    text = window.js("document.querySelector('main').innerText")
    assert "Nothing was tried." in text
    assert "not finite" not in text
    runs = [ReportedRun(name="given", history=given)]
    runs.append(ReportedRun(name="adapted", history=noisy().history))
    write_html(tmp_path / "page.html", report_page(runs, title="Two"))
    window.open(tmp_path / "page.html")
    for part in ("schedule", "metrics"):
        x, y, width, height = window.box(f"#{part} canvas.over")
        window.mouse("mouseMoved", x + width / 3, y + height / 2)
        assert tip(window)
    assert is_clean(window)


def rate_search_page(path: Path, **more: Any) -> Path:
    arguments: Any = recommended("learning_rate", name="lr", default=0.03, loss="loss")
    adapter = DynamicGridAdapter(NoisyQuadratic(noise=0.1, seed=3), **{**arguments, **more})
    adapter.run(60)
    write_html(path, html_report(adapter.history, title="Rate", settings=adapter.described))
    return path


@pytest.mark.parametrize(("more", "tried"), [({}, True), ({"then": scale(0.7, "lr")}, False)])
def test_a_corrected_value_is_marked_among_the_tries(
    more: dict[str, Any], tried: bool, window: Browser, tmp_path: Path
) -> None:
    window.open(rate_search_page(tmp_path / "page.html", **more))
    rows = window.js("[...document.querySelectorAll('#round tbody tr')].map(r => r.textContent)")
    marked = [row for row in rows if "taken: the best, corrected by then=" in row]
    assert len(marked) == 1
    assert ("not tried" in marked[0]) is not tried
    assert sum("best" in row and "taken" not in row for row in rows) == 1
    assert not any("kept" in row for row in rows)
    window.js("document.querySelector('#tries canvas.over').focus()")
    window.key("ArrowRight")
    assert ", made of lr=" in tip(window)
    assert is_clean(window)


def test_steps_are_called_steps(window: Browser, tmp_path: Path) -> None:
    model = NoisyQuadratic(seed=3)
    loop = adapt(steps=60, state=[model], space={"lr": [0.01, 0.1, 0.3]}, minimize="loss",
                 adapt_every=10, try_for=2, check="off")  # fmt: skip
    for step in loop:
        model.train_k(1, step.values)
        step.report(loss=model.metrics()["loss"])
    write_html(tmp_path / "page.html", html_report(loop.history, title="Steps"))
    window.open(tmp_path / "page.html")
    for part in ("schedule", "tries", "metrics"):
        x, y, width, height = window.box(f"#{part} canvas.over")
        window.mouse("mouseMoved", x + width / 2, y + height / 2)
        assert "step" in tip(window)
        assert "epoch" not in tip(window)
    text = window.js("document.querySelector('main').innerText")
    assert "by step" in text
    assert "epoch" not in text.lower()
    assert is_clean(window)
