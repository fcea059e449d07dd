"""A headless Chromium, driven through the pipe of its DevTools protocol: nothing else is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe")
ARGUMENTS += ("--no-first-run", "--disable-extensions", "--hide-scrollbars")
ARGUMENTS += ("--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync")
ARGUMENTS += ("--disable-component-update",)


class Browser:
    """One page of a browser: what is on it, what was logged, and keys and pointers."""

    def __init__(self, process: subprocess.Popen[bytes], send: int, receive: int) -> None:
        self._process, self._send, self._receive = process, send, receive
        self._rest, self._number = b"", 0
        self.logged: list[str] = []
        self.requested: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._receive, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._rest += data
        line, self._rest = self._rest.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(line)
        self._note(answer.get("method", ""), answer.get("params", {}))
        return answer

    def _note(self, method: str, params: Any) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.logged.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.logged.append(f"console.{params['type']}: {params['args']}")
        elif method == "Log.entryAdded":
            self.logged.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of this size, in light or dark; what was logged is forgotten."""
        self.logged, self.requested = [], []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media="", features=scheme)
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")
        self.settle()

    def settle(self) -> None:
        """Wait until the page has drawn what it has to draw."""
        self.call(
            "Runtime.evaluate",
            expression="new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))",
            awaitPromise=True,
        )

    def js(self, expression: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true on the page."""
        wait_until(lambda: bool(self.js(expression)))

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Move or press the mouse."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, name: str) -> None:
        """Press and release a key."""
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}
        code = {"windowsVirtualKeyCode": codes.get(name, ord(name[0])), "key": name}
        typed = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Where an element is in the window, once it is scrolled to: left, top, width, height."""
        quoted = json.dumps(selector)
        self.js(f"document.querySelector({quoted}).scrollIntoView({{block: 'center'}})")
        self.settle()
        self.settle()
        box = self.js(f"JSON.stringify(document.querySelector({quoted}).getBoundingClientRect())")
        place = json.loads(box)
        return place["x"], place["y"], place["width"], place["height"]

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of the window, or of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        more = (
            {"clip": {"x": 0, "y": 0, **_size(size), "scale": 1}, "captureBeyondViewport": True}
            if whole
            else {}
        )
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        path.write_bytes(base64.b64decode(data))


def _size(size: Any) -> dict[str, float]:
    return {"width": size["width"], "height": size["height"]}


@contextmanager
def browser(program: str, profile: Path) -> Iterator[Browser]:
    """Start a browser, and end it."""
    from_us, send = os.pipe()
    receive, from_it = os.pipe()

    def as_it_expects() -> None:  # commands come in as 3, answers go out as 4
        high = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (from_us, from_it)]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    process = subprocess.Popen(
        [program, *ARGUMENTS, f"--user-data-dir={profile}"],
        preexec_fn=as_it_expects,
        pass_fds=(3, 4),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(from_us)
    os.close(from_it)
    try:
        yield Browser(process, send, receive)
    finally:
        process.kill()
        process.wait()
        os.close(send)
        os.close(receive)
