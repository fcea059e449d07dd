"""Whatever is wrong with a command of ``dynhp linkpred``: one clear line, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dynhp.cli.main import main


def edges(text: str) -> Callable[[Path], str]:
    def write(home: Path) -> str:
        path = home / "bad.txt"
        path.write_text(text)
        return str(path)

    return write


def archive(**arrays: object) -> Callable[[Path], str]:
    def write(home: Path) -> str:
        np.savez(home / "bad.npz", **arrays)  # type: ignore[arg-type]
        return str(home / "bad.npz")

    return write


def broken(home: Path) -> str:
    (home / "bad.npz").write_bytes(b"PK\x03\x04 not really")
    return str(home / "bad.npz")


RING = [list(range(60)), [*range(1, 60), 0]]
FULL = np.array(np.triu_indices(8, 1))
SINGLE = ["--negatives", "community", "--split", "96/2/2"]
CORA = ["--dataset", "cora"]
FEATURES = {"x_indices": [0], "x_indptr": [0, 1] + [1] * 59, "x_shape": [60, 2]}

BAD: list[tuple[list[object], str]] = [
    (
        ["--dataset", "coar"],
        "dataset must be one of the known ones, got 'coar'; did you mean 'cora'?",
    ),
    ([], "one of the arguments --dataset --graph --planetoid is required"),
    ([*CORA, "--graph", "x.npz"], "not allowed with argument --dataset"),
    ([*CORA, "--split", "80/10"], "a split is three numbers, like '80/10/10', got '80/10'"),
    ([*CORA, "--split", "80/10/20"], "split ratios must sum to 1"),
    ([*CORA, "--split", "100/0/0"], "split ratios must be three positive numbers"),
    ([*CORA, "--ratio", "1.5"], "edge_message_ratio must lie strictly between 0 and 1"),
    ([*CORA, "--ratio", "0"], "edge_message_ratio must lie strictly between 0 and 1"),
    ([*CORA, "--ratio", "half"], "argument --ratio: invalid float value: 'half'"),
    ([*CORA, "--ratio", "0.55"], "is not on the grid"),
    ([*CORA, "--method", "adagird"], "got 'adagird'; did you mean 'adagrid'?"),
    ([*CORA, "--criterion", "validaton"], "did you mean 'validation'?"),
    ([*CORA, "--protocol", "papr"], "did you mean 'paper'?"),
    ([*CORA, "--negatives", "comunity"], "did you mean 'community'?"),
    ([*CORA, "--communities", "igraf"], "did you mean 'igraph'?"),
    ([*CORA, "--adapt", "droput"], "cannot adapt 'droput'; did you mean 'dropout'?"),
    ([*CORA, "--adapt", "dropout", "--adapt", "dropout"], "named once"),
    ([*CORA, "--epochs", "0"], "epochs must be a whole number, 1 or above, got 0"),
    ([*CORA, "--epochs", "ten"], "argument --epochs: invalid int value: 'ten'"),
    ([*CORA, "--try-for", "20"], "try_for must be at most adapt_every"),
    ([*CORA, "--layers", "0"], "layers must be a whole number"),
    ([*CORA, "--width", "-3"], "width must be a whole number"),
    ([*CORA, "--seeds", "0"], "--seeds must be a whole number, 1 or above, got 0"),
    ([*CORA, "--device", "abacus"], "device must be one that torch can use here, got 'abacus'"),
    ([*CORA, "--epoch", "5"], "unknown argument '--epoch'; did you mean '--epochs'?"),
    ([*CORA, "--data", "x"], "--data goes with --planetoid, got 'x' without it"),
    ([*CORA, "--directed", "symmetrize"], "--directed goes with --graph"),
    (["--planetoid", "Cora"], "add --data DIR"),
    (["--planetoid", "Cora", "--data", "nowhere"], "ind.cora.graph"),
    (["--planetoid", "Corra", "--data", "."], "did you mean 'Cora'?"),
    (["--graph", "nowhere.npz"], "nowhere.npz"),
    (["--graph", "graph.pt"], "a graph file must end in one of .npz"),
    (["--graph", broken], "bad.npz"),
    (["--graph", edges("0 1\n1 two\n")], "bad.txt"),
    (["--graph", edges("0 1\n1 0\n1 2\n2 3\n")], "directed"),
    (["--graph", edges("0 1\n1 2\n")], "split"),
    (["--graph", edges("0 1\n1 2\n"), "--directed", "drop"], "directed must be None"),
    (["--graph", archive(edge_index=[[0], [7]], num_nodes=3)], "7"),
    (["--graph", archive(edge_index=RING, num_nodes=60, x_data=[np.nan], **FEATURES)], "nan"),
    (["--graph", archive(edge_index=FULL), *SINGLE], "need at least two communities, got 1"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_clear_line(
    arguments: list[object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    words = [str(word(home)) if callable(word) else str(word) for word in arguments]
    out = tmp_path / "out"
    assert main(["linkpred", "train", *words, "--out", str(out)]) == 2
    printed, messages = capsys.readouterr()
    assert printed == ""
    lines = messages.splitlines()
    assert len(lines) == 1, messages
    assert lines[0].startswith("dynhp: error: ")
    assert message in lines[0]
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "invalid choice: 'trian'"),
        ([], "train|audit"),
        (["reproduce"], "from a checkout: make reproduce PART="),
        (["reproduce", "--part", "headline"], "from a checkout: make reproduce PART="),
        (["audit", "--dataset", "coar"], "did you mean 'cora'?"),
        (["audit", "--dataset", "cora", "--protocol", "papr"], "did you mean 'paper'?"),
        (["audit", "--dataset", "cora", "--epochs", "5"], "unknown argument '--epochs'"),
    ],
)
def test_bad_words_around_it(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["linkpred", *arguments]) == 2
    messages = capsys.readouterr().err
    assert message in messages
    assert len(messages.splitlines()) == 1
