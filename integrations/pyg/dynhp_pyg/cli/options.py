"""The options of ``dynhp linkpred``: declared here, and read into a graph and settings."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from dynhp.errors import SettingsError, nearest
from dynhp_pyg.checks import whole
from dynhp_pyg.graphs.bundled import DATASETS, load_dataset
from dynhp_pyg.graphs.files import load_graph
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.graphs.planetoid import load_planetoid
from dynhp_pyg.runs.published import PROTOCOLS, published_settings
from dynhp_pyg.runs.spec import ADAPTABLE, LinkRun, space_of
from dynhp_pyg.splits.ratios import parse_ratios

__all__ = ["OneLineParser", "add_audit", "add_data", "add_training", "command_of", "graph_of"]
__all__ += ["one_line", "settings_of", "split_protocol"]


def one_line(message: str) -> NoReturn:
    """Turn a message of argparse into an error, which the command shows in one line."""
    raise SettingsError(f"{message}; --help shows all options")


class OneLineParser(argparse.ArgumentParser):
    """A parser that raises errors, with the nearest option for an unknown one."""

    def error(self, message: str) -> NoReturn:
        """Raise the message without a page of usage."""
        one_line(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown options here: the parsers above do not know the options of this one."""
        parsed, left = super().parse_known_args(args, namespace)
        if left:
            known = [name for name in self._option_string_actions if name.startswith("--")]
            raise SettingsError(f"unknown argument {left[0]!r}{nearest(left[0], known)}")
        return parsed, left


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options of the graph and its split."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset", metavar="NAME", help=f"bundled: {' or '.join(DATASETS)}")
    source.add_argument("--graph", metavar="FILE", help="an .npz archive or an edge list")
    source.add_argument("--planetoid", metavar="NAME", help="Cora, CiteSeer or PubMed in --data")
    add = parser.add_argument
    add("--data", metavar="DIR", help="the folder of --planetoid; nothing is downloaded")
    add("--directed", metavar="CHOICE", help="symmetrize or refuse a directed --graph")
    add("--split", default="80/10/10", metavar="A/B/C", help="train/validation/test (80/10/10)")
    add(
        "--protocol",
        default="undirected",
        help="undirected (leak-free, default), paper (leaks) or published (leaks, and trains as "
        "the published code does)",
    )
    add("--negatives", default="uniform", help="uniform (default) or community")
    add("--communities", default="auto", help="auto (default), igraph, networkx or leiden")


def add_audit(parser: argparse.ArgumentParser) -> None:
    """Add the option that only an audit has."""
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the split (0)")


def add_training(parser: argparse.ArgumentParser) -> None:
    """Add the options of training and adaptation."""
    add = parser.add_argument
    add(
        "--method",
        default="adagrid",
        help="adagrid (default), neighbors, interpolation, one_axis, recommended, complete, "
        "random, fixed or placebo",
    )
    add("--adapt-every", type=int, default=10, metavar="N", help="epochs in a round (10)")
    add("--try-for", type=int, default=1, metavar="N", help="epochs in a try (1)")
    add("--criterion", default="validation", help="what tries are judged by: validation or gap")
    add("--epochs", type=int, default=500, metavar="N", help="epochs of the final model (500)")
    add("--layers", type=int, default=2, metavar="K", help="GCN layers (2)")
    add("--width", type=int, default=64, metavar="N", help="channels of each layer (64)")
    add("--schedule", default="cosine", help="of the learning rate: cosine (default) or constant")
    add(
        "--rate-restarts",
        type=int,
        metavar="N",
        help="the learning rate is its first value again every N epochs (never)",
    )
    add("--randomness", help="of the tries of a round: common (default) or independent")
    add("--ratio", type=float, default=0.5, metavar="R", help="the first edge message ratio (0.5)")
    add(
        "--adapt",
        action="append",
        metavar="NAME",
        help=f"what to adapt, may be given several times: {', '.join(ADAPTABLE)}",
    )
    add("--seeds", type=int, default=5, metavar="N", help="seeds 0 to N-1, of split and model (5)")
    add("--device", default="cpu", help="a device of torch (cpu)")
    add("--out", metavar="DIR", help="where to write results; without it nothing is written")
    add("--quiet", action="store_true", help="print only the table")
    add_progress(parser)


def add_progress(parser: argparse.ArgumentParser) -> None:
    """The option that says whether training is shown while it goes on."""
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show training while it goes on (default: unless --quiet)",
    )


def shows_progress(parsed: argparse.Namespace) -> bool:
    """Whether training is shown while it goes on."""
    return bool(not parsed.quiet if parsed.progress is None else parsed.progress)


def command_of(parsed: argparse.Namespace) -> str:
    """The command that trains the same again: all options that are not as they are by default.

    Where results are written and what is printed decides nothing, so it is left out.

    >>> parser = OneLineParser()
    >>> add_data(parser); add_training(parser)
    >>> given = ["--dataset", "cora", "--seeds", "2", "--adapt", "dropout", "--out", "results"]
    >>> command_of(parser.parse_args(given))
    'dynhp linkpred train --dataset cora --adapt dropout --seeds 2'
    """
    parser = OneLineParser()
    add_data(parser)
    add_training(parser)
    words = ["dynhp", "linkpred", "train"]
    for action in parser._actions:
        value = getattr(parsed, action.dest, action.default)
        if value == action.default or action.dest in ("out", "quiet", "progress"):
            continue
        for each in value if isinstance(value, list) else [value]:
            words += [action.option_strings[0], str(each)]
    return shlex.join(words)


def graph_of(parsed: argparse.Namespace) -> Graph:
    """Load the graph that the options name."""
    _needs(parsed, "data", "planetoid")
    _needs(parsed, "directed", "graph")
    if parsed.dataset is not None:
        return load_dataset(parsed.dataset)
    if parsed.graph is not None:
        return load_graph(parsed.graph, directed=parsed.directed)
    if parsed.data is None:
        raise SettingsError(
            f"--planetoid {parsed.planetoid} needs the folder of its files, got none; "
            "add --data DIR"
        )
    return load_planetoid(parsed.planetoid, parsed.data)


MOST_SEEDS = 10_000
"""More is a typing error."""

# The options that are named like the fields of LinkRun and mean the same.
_AS_GIVEN = ["negatives", "communities", "method", "adapt_every", "try_for"]
_AS_GIVEN += ["criterion", "epochs", "layers", "width", "schedule", "ratio", "device"]


def settings_of(parsed: argparse.Namespace, *, graph: str) -> list[LinkRun]:
    """Give the settings of each seed's run."""
    seeds = whole("--seeds", parsed.seeds, least=1)
    if seeds > MOST_SEEDS:
        raise SettingsError(f"--seeds must be at most {MOST_SEEDS}, got {seeds!r}")
    return [
        LinkRun(
            graph=graph,
            split=parse_ratios(parsed.split),
            space=space_of(parsed.adapt or ["edge_message_ratio"]),
            seed=seed,
            **_protocol_of(parsed),
            **{name: getattr(parsed, name) for name in _AS_GIVEN},
        )
        for seed in range(seeds)
    ]


def split_protocol(parsed: argparse.Namespace) -> Any:
    """Give the protocol of the split: that of the published code is the paper's.

    >>> split_protocol(argparse.Namespace(protocol="published"))
    'paper'
    """
    if parsed.protocol not in PROTOCOLS:
        known = nearest(parsed.protocol, PROTOCOLS)
        raise SettingsError(f"--protocol must be a known one, got {parsed.protocol!r}{known}")
    return "paper" if parsed.protocol == "published" else parsed.protocol


def _protocol_of(parsed: argparse.Namespace) -> dict[str, Any]:
    """The split, the rate and the random numbers; what is given goes before what is usual."""
    published = parsed.protocol == "published"
    if published and parsed.schedule != "cosine":
        raise SettingsError(
            f"--protocol published restarts a rate that falls, got --schedule {parsed.schedule}; "
            "leave it out, or use --protocol paper"
        )
    usual = published_settings(parsed.method, parsed.adapt_every) if published else {}
    return {
        "protocol": split_protocol(parsed),
        "rate_restarts": usual.get("rate_restarts")
        if parsed.rate_restarts is None
        else parsed.rate_restarts,
        "randomness": parsed.randomness or usual.get("randomness", "common"),
    }


def _needs(parsed: argparse.Namespace, option: str, other: str) -> None:
    if getattr(parsed, option) is not None and getattr(parsed, other) is None:
        raise SettingsError(
            f"--{option} goes with --{other}, got {getattr(parsed, option)!r} without it; "
            "leave it out"
        )
