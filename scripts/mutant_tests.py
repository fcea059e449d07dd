"""The tests of mutants: which tests run a mutated statement, and does one of them notice?

``scripts/mutants.py`` copies this file beside mutated code and starts it there, with a list of the
mutants in a file. The tests are collected once, and traced once, each with the lines that it runs.
Then every mutant has a process of its own, forked from the one that has collected the tests and has
run none. It runs the tests that have run the mutated statement until one fails: first the one that
noticed the same mutant in an earlier run, then those that are short and likely to notice, because
they noticed other mutants of the statement or the function, or are in a file or folder that is
named after the module. A test that does not run the statement cannot notice its mutants.
Where nobody notices, and the function is called when dynhp is imported (a decorator), some tests,
and then all, are run once more in a new interpreter that imports the mutant.

That a test failed is no proof that it noticed the mutant: it may depend on the tests before it. So
it is run twice more, each time alone in a new process. It must fail with the mutant and pass
without it. Otherwise the others are asked without it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import pytest

MEMORY = 2 << 30  # a mutant that fills the memory in an endless loop must not take the machine
PROCESS_SECONDS = 0.005  # what any test costs, however short
LEAST_SECONDS = 2.0
HARD_SECONDS = 2.0  # of tests that did not notice a mutant, before one did
TIMES_LONGER = 20  # than the same test without a mutant, in processor time
WALL_SECONDS = 120.0  # for a mutant that waits for ever and uses no processor time


class MutantVerdict(NamedTuple):
    """What became of a mutant, and the test that decided it."""

    fate: str
    test: str


class Place(NamedTuple):
    """The lines of the statement that a mutant changes, as they stand in the copy of the file."""

    file: str
    first: int
    last: int


class Likely(NamedTuple):
    """How often the tests have noticed mutants: of a statement, a function, and hard ones."""

    of_statement: Counter[str]
    of_function: Counter[str]
    hard: Counter[str]  # that many others did not notice, in any function

    def weight(self, test: str) -> float:
        """By how much a test is likely to notice the next."""
        near = 3.0 * self.of_statement[test] + self.of_function[test]
        return near + 20.0 * self.hard[test] / (5 + self.hard.total())


class Tracer:
    """Notes the lines that are run in some files."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.lines: set[tuple[str, int]] = set()

    def start(self) -> None:
        """In this thread, and in those that are started from here on."""
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """What Python calls at the begin of a function, and in these files at every line."""
        if frame.f_code.co_filename not in self.files:
            return None
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace


class MutantTests:
    """A plugin of pytest that asks the tests about each mutant, instead of running them once."""

    def __init__(self, mutants: dict[str, Place], before: dict[str, str], workers: int) -> None:
        self.mutants = mutants
        self.before = before  # the test that noticed the mutant in an earlier run
        self.workers = workers
        self.failed = ""
        self.seconds: dict[str, float] = {}
        self.runners: dict[Place, list[str]] = {}
        self.kills: dict[Place | str, Counter[str]] = defaultdict(Counter)
        self.hard: Counter[str] = Counter()
        self.sound: set[str] = set()  # tests that pass alone, without a mutant
        self.at_import: set[str] = set()
        self.in_tests: set[str] = set()
        note_calls(self.at_import)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a failure, of the test or of what it is given."""
        if report.failed:
            self.failed = str(report.longrepr)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure, then ask the tests about every mutant, with so many processes at a time."""
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        trampoline().set_mutant_under_test("")  # from here on every function is the original
        self.items = {item.nodeid: item for item in session.items}
        for answer in self.measure_all():
            if answer.fate != "survived":
                raise session.Failed(f"{answer.test} fails on the code as it is ({answer.fate})")
        print()
        gc.freeze()
        self.ask_about_all()
        return True

    def measure_all(self) -> Iterator[MutantVerdict]:
        """Measure each test, a part of them in each process; what became of each part."""
        names = list(self.items)
        files = list(dict.fromkeys(name.partition("::")[0] for name in names))
        parts = []
        for part in range(min(self.workers, len(files))):
            mine = set(files[part :: self.workers])
            tests = [name for name in names if name.partition("::")[0] in mine]
            path = Path(f"measured_{part}.json")
            measure = functools.partial(self.measure, tests, path)
            parts.append((path, *answer_of(functools.partial(in_a_process, measure, 3600.0))))
        for path, child, pipe in parts:
            os.waitpid(child, 0)
            yield answered(pipe)
            seconds, runners, in_tests = json.loads(path.read_text("utf-8"))
            self.seconds |= seconds
            self.in_tests |= set(in_tests)
            for place, tests in runners:
                self.runners.setdefault(Place(*place), []).extend(tests)

    def measure(self, tests: list[str], path: Path, say: Callable[[str], None]) -> bool:
        """Run tests on the code as it is, and write which of them run a mutated statement."""
        tracer = Tracer({place.file for place in self.mutants.values()})
        tracer.start()
        note_calls(self.in_tests)
        places_at: dict[tuple[str, int], list[Place]] = defaultdict(list)
        for place in set(self.mutants.values()):
            for line in range(place.first, place.last + 1):
                places_at[place.file, line].append(place)
        runners: dict[Place, list[str]] = defaultdict(list)
        seconds = {}
        for name, after in zip(tests, [*tests[1:], None], strict=True):
            say(name)
            tracer.lines.clear()
            began = time.process_time()
            self.run_test(name, after)
            if self.failed:
                print(f"\n{self.failed}", flush=True)
                return False
            seconds[name] = time.process_time() - began
            for place in {each for line in tracer.lines for each in places_at.get(line, ())}:
                runners[place].append(name)
        text = json.dumps([seconds, list(runners.items()), sorted(self.in_tests)])
        path.write_text(text, "utf-8")
        return True

    def ask_about_all(self) -> None:
        """Start a process for each mutant, and print what becomes of it as soon as it is known."""
        files = list(dict.fromkeys(place.file for place in self.mutants.values()))
        waiting = sorted(
            self.mutants,
            key=lambda name: (files.index(self.mutants[name].file), len(self.all_runners(name))),
        )
        running: dict[int, tuple[str, int, float]] = {}
        while waiting or running:
            if waiting and len(running) < self.workers:
                mutant = waiting.pop(0)
                child, read = answer_of(functools.partial(self.verdict, mutant))
                running[child] = mutant, read, time.monotonic()
            else:
                child, _ = os.waitpid(-1, 0)
                mutant, read, began = running.pop(child)
                fate, test = answered(read)
                self.hard[test] += self.is_hard(mutant, test)
                for each in (function_of(mutant), self.mutants[mutant]):
                    self.kills[each][test] += 1
                self.sound.add(test)
                seconds = time.monotonic() - began
                print(f"mutant {mutant} {seconds:.1f} {fate}: {test}", flush=True)

    def all_runners(self, mutant: str) -> list[str]:
        """The tests that run the mutated statement, as they stand in their files."""
        return self.runners.get(self.mutants[mutant], [])

    def runners_of(self, mutant: str) -> list[str]:
        """The same, the most promising first: short, and likely to notice."""
        function = function_of(mutant)
        likely = Likely(self.kills[self.mutants[mutant]], self.kills[function], self.hard)
        module, before = function.split(".")[-2], self.before.get(mutant)

        def order(test: str) -> tuple[bool, float]:
            named = 0.1 if module in test.partition("::")[0] else 0.02
            seconds = PROCESS_SECONDS + self.seconds[test]
            return test != before, seconds / (named + likely.weight(test))

        return sorted(self.all_runners(mutant), key=order)

    def is_hard(self, mutant: str, test: str) -> bool:
        """Whether many tests, though promising, did not notice a mutant and this one did."""
        before = itertools.takewhile(lambda each: each != test, self.runners_of(mutant))
        return bool(test) and sum(self.seconds[each] for each in before) > HARD_SECONDS

    def verdict(self, mutant: str) -> MutantVerdict:
        """Ask the tests, until one is sure or all have passed."""
        tests = likely = self.runners_of(mutant)
        unnoticed = MutantVerdict("survived" if tests else "no tests", "")
        function = function_of(mutant)
        while tests and (function in self.in_tests or function not in self.at_import):
            answer = self.ask(mutant, tests)
            if answer.fate == "survived":
                break
            if answer.test in self.sound or self.ask("", [answer.test]).fate == "survived":
                first = answer.test == tests[0]  # then it was alone
                alone = answer if first else self.ask(mutant, [answer.test])
                if alone.fate != "survived":
                    return alone
            tests = [test for test in tests if test != answer.test]
        if function in self.at_import and imported_anew(mutant, likely):
            return MutantVerdict("killed", "")
        return unnoticed

    def ask(self, mutant: str, tests: list[str]) -> MutantVerdict:
        """Run the tests one after the other in a new process, up to the first that fails."""

        def run(say: Callable[[str], None]) -> bool:
            silence()
            trampoline().set_mutant_under_test(mutant)
            for name, after in zip(tests, [*tests[1:], None], strict=True):
                say(name)
                allowed = LEAST_SECONDS + TIMES_LONGER * self.seconds[name]
                signal.setitimer(signal.ITIMER_PROF, allowed)
                self.run_test(name, after)
                if self.failed:
                    return False
            return True

        expected = sum(self.seconds[name] for name in tests)
        return in_a_process(run, seconds=WALL_SECONDS + TIMES_LONGER * expected)

    def run_test(self, name: str, after: str | None) -> None:
        """Run a test as pytest does, with all its plugins."""
        item = self.items[name]
        following = None if after is None else self.items[after]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def trampoline() -> ModuleType:
    """What decides, at every call of a mutated function, which mutant of it is called."""
    import mutmut.mutation.trampoline  # there for ``make mutants`` only

    return mutmut.mutation.trampoline


def answer_of(ask: Callable[[], MutantVerdict]) -> tuple[int, int]:
    """Ask in a process of its own: the process, and a pipe that ``answered`` reads at its end."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            os.write(write, json.dumps(ask()).encode())
        finally:
            os._exit(0)
    os.close(write)
    return child, read


def answered(read: int) -> MutantVerdict:
    """What came of it."""
    with os.fdopen(read, "rb") as pipe:
        return MutantVerdict(*json.loads(pipe.read()))


def note_calls(names: set[str]) -> None:
    """From here on every function is the original, and its name is noted when it is called."""
    switch: Any = trampoline()
    switch.record_trampoline_hit = lambda name, caller=None: names.add(name)
    switch.set_mutant_under_test("stats")


def imported_anew(mutant: str, likely: list[str]) -> bool:
    """Whether a test fails in an interpreter that has the mutant from the beginning."""
    script, names, workers, *tests = sys.argv

    def fails(mutant: str, tests: list[str]) -> bool:
        variables = {**os.environ, "MUTANT_UNDER_TEST": mutant}
        command = [sys.executable, script, names, workers, *tests]
        return bool(subprocess.run(command, env=variables, stdout=subprocess.DEVNULL).returncode)

    few = likely[:20]
    noticed = bool(few) and fails(mutant, few) and not fails("", few)
    return noticed or fails(mutant, tests)


def in_a_process(work: Callable[[Callable[[str], None]], bool], seconds: float) -> MutantVerdict:
    """Do the work in a process of its own, with the processes that it leaves behind ended too.

    What the work says last is the test that it was busy with.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        passed = False
        try:
            passed = work(lambda name: void(os.write(write, f"{name}\n".encode())))
        finally:
            os._exit(0 if passed else 1)
    os.close(write)
    said = b""
    status: int | None = None
    end = time.monotonic() + seconds
    while status is None and time.monotonic() < end:
        said = (said + arrived(read, 0.1))[-65536:]
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(code)
    said += arrived(read, 0.0)
    os.close(read)
    end_group(child)
    if status is None:
        os.waitpid(child, 0)
    test = said.decode().splitlines()[-1] if said else ""
    return MutantVerdict(fate_of(status), "" if status == 0 else test)


def fate_of(status: int | None) -> str:
    """What the end of a process says of the mutant in it.

    >>> [fate_of(status) for status in (0, 1, None, -signal.SIGPROF, -signal.SIGSEGV)]
    ['survived', 'killed', 'timeout', 'timeout', 'segfault']
    """
    known = {None: "timeout", 0: "survived", -signal.SIGPROF: "timeout"}
    return known.get(status, "killed" if status is not None and status > 0 else "segfault")


def arrived(pipe: int, seconds: float) -> bytes:
    """What comes within so many seconds; nothing where all who could write have ended."""
    if not select.select([pipe], [], [], seconds)[0]:
        return b""
    text = os.read(pipe, 1 << 20)
    if not text:
        time.sleep(min(seconds, 0.001))  # until the one who wrote can be waited for
    return text


def end_group(leader: int) -> None:
    """End a process and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def silence() -> None:
    """Print to nowhere from here on: mutants fail by the thousand."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)


def function_of(mutant: str) -> str:
    """The name by which a function says that it was called.

    >>> function_of("dynhp.texts.x_lines__mutmut_12")
    'dynhp.texts.x_lines'
    """
    return mutant.partition("__mutmut_")[0]


def void(_: object) -> None:
    """Nothing, of anything."""


def main() -> int:
    """Ask about the mutants that are listed in the first argument, by the tests that follow."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # some tests send themselves Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    # Frames that mutmut puts in between count as dynhp's: hints point at the line that called it.
    trampoline().__name__ = "dynhp.trampoline"
    # A failure is only counted: nobody reads what it looks like.
    options = ["-q", "-s", "-x", "--no-header", "--tb=native", "--assert=plain"]
    options += ["-p", "no:cacheprovider", "-p", "no:randomly"]
    names, workers, *tests = sys.argv[1:]
    if "MUTANT_UNDER_TEST" in os.environ:
        return int(pytest.main([*options, *tests]))
    places = json.loads(Path(names).read_text("utf-8"))
    mutants = {name: Place(*place[:3]) for name, place in places.items()}
    before = {name: place[3] for name, place in places.items()}
    plugin = MutantTests(mutants, before, int(workers))
    return int(pytest.main([*options, *tests], plugins=[plugin]))


if __name__ == "__main__":
    sys.exit(main())
