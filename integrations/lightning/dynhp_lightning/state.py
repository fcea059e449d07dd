"""All that decides the future of a fit, as parts of a state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ProgressBar

from dynhp.loops import Part
from dynhp.loops.parts import global_generators
from dynhp_torch.parts import attributes_part, data_part, is_plain, torch_generators, torch_part
from dynhp_torch.parts.contents import GENERATORS

__all__ = ["data_parts", "fit_state", "generator_parts", "loader_parts", "loops_of"]
__all__ += ["progress_part"]

_ONCE = ("_restart", "_resum", "_loaded")  # flags of a pass: Lightning takes them back by itself
_OF_TRAINER = ("should_stop", "accumulate_grad_batches")


def fit_state(trainer: Any, hidden: Callback) -> list[Any]:
    """The state of a fit that is under way, as a list for ``dynhp_torch.adapt``.

    Lightning's own checkpoint would do for most of it, but it is made for a new process: loading
    one marks loops as restarting, keeps no random generator and not what a callback stores beside
    its ``state_dict``. So each object is asked, and progress is put back into the counters.

    Args:
        trainer: the trainer, in ``fit``, with all its optimisers made.
        hidden: the callback that adapts, whose own attributes are no part of the state.
    """
    module = trainer.lightning_module
    schedulers = [config.scheduler for config in trainer.lr_scheduler_configs]
    return [
        module,
        *trainer.optimizers,
        *schedulers,
        attributes_part(lambda: module.modules(), name="attributes of the module"),
        _pair_part(trainer.precision_plugin, "the precision plugin"),
        attributes_part(lambda: _callbacks(trainer, hidden), name="attributes of the callbacks"),
        *_datamodule_parts(trainer),
        *data_parts(trainer),
        attributes_part(
            lambda: _datasets(_loaders(trainer)), name="numbers of the datasets", data=False
        ),
        progress_part(trainer),
        attributes_part(lambda: [trainer._logger_connector], name="metrics of the trainer"),
    ]


def progress_part(trainer: Any) -> Part:
    """The counters of all loops of a fit, and the trainer's own flags."""
    return Part(
        get=lambda: _progress(trainer),
        set=lambda state: _set_progress(trainer, state),
        name="the trainer's progress",
    )


def generator_parts() -> tuple[Part, ...]:
    """The global generators of Python, numpy and torch."""
    return (*global_generators(), *torch_generators())


def data_parts(trainer: Any) -> list[Part]:
    """Every loader of training and validation, with its samplers and generators."""
    return [part for loader in _loaders(trainer) for part in loader_parts(loader)]


def loader_parts(loader: Any) -> list[Part]:
    """A loader, and the generators that its dataset draws from."""
    inside = [value for each in _datasets([loader]) for value in vars(each).values()]
    drawn = [torch_part(value) for value in inside if isinstance(value, GENERATORS)]
    return [data_part(loader), *drawn]


def loops_of(loop: Any) -> Iterator[Any]:
    """A loop of Lightning and all loops inside it, found as Lightning itself finds them."""
    yield loop
    for inner in vars(loop).values():
        if _has_state(inner) and hasattr(inner, "restarting"):
            yield from loops_of(inner)


def _has_state(thing: Any) -> bool:
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


def _pair_part(thing: Any, name: str) -> Part:
    return Part(get=thing.state_dict, set=thing.load_state_dict, name=name)


def _callbacks(trainer: Any, hidden: Callback) -> list[Callback]:
    # In a try the bars are off, so there is nothing in them to put back.
    quiet = (each for each in trainer.callbacks if not isinstance(each, ProgressBar))
    return [each for each in quiet if each is not hidden]


def _datamodule_parts(trainer: Any) -> list[Part]:
    data = trainer.datamodule
    if data is None:
        return []
    return [
        _pair_part(data, "the datamodule"),
        attributes_part(lambda: [data], name="numbers of the datamodule", data=False),
    ]


def _loaders(trainer: Any) -> list[Any]:
    loop = trainer.fit_loop
    combined = [loop._combined_loader, loop.epoch_loop.val_loop._combined_loader]
    loaders = [each for loader in combined if loader is not None for each in loader.flattened]
    return list({id(each): each for each in loaders}.values())


def _datasets(loaders: list[Any]) -> list[Any]:
    """The datasets of loaders, and those inside them, such as that of a subset."""
    ahead = [getattr(loader, "dataset", None) for loader in loaders]
    datasets: list[Any] = []
    for dataset in ahead:
        if not hasattr(dataset, "__dict__") or any(dataset is known for known in datasets):
            continue
        datasets.append(dataset)
        ahead.append(vars(dataset).get("dataset"))
        more = vars(dataset).get("datasets")
        ahead += more if isinstance(more, list | tuple) else ()
    return datasets


def _progress(trainer: Any) -> dict[str, Any]:
    loops = [dict(_progress_of(loop)) for loop in loops_of(trainer.fit_loop)]
    flags = {name: getattr(trainer, name) for name in _OF_TRAINER}
    return {"loops": loops, "trainer": flags, "stage": trainer.state.stage}


def _progress_of(loop: Any) -> Iterator[tuple[str, Any]]:
    for name, thing in vars(loop).items():
        if is_plain(thing) and not name.startswith(_ONCE):
            yield name, thing
        elif _has_state(thing) and not hasattr(thing, "restarting"):
            yield name, thing.state_dict()


def _set_progress(trainer: Any, state: dict[str, Any]) -> None:
    for loop, saved in zip(loops_of(trainer.fit_loop), state["loops"], strict=True):
        for name, value in saved.items():
            if is_plain(value):
                vars(loop)[name] = value
            else:
                getattr(loop, name).load_state_dict(value)
    for name, value in state["trainer"].items():
        setattr(trainer, name, value)
    trainer.state.stage = state["stage"]
