"""Starts ranks: this process imports torch once, and forks one rank after the other from itself.

For each line of input, a script, its arguments and a file for what each rank prints and another one
for its errors, all as JSON, it writes a line when these ranks have ended.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback

import torch
import torch.distributed
from torch.nn import parallel  # noqa: F401

import dynhp_torch  # noqa: F401


def fork(script: str, arguments: list[str], files: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    for number, name in enumerate((os.devnull, *files)):
        opened = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, number)
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in sys.stdin:
        script, arguments, outputs = json.loads(line)
        ranks = [fork(script, [str(rank), *arguments], files) for rank, files in enumerate(outputs)]
        for rank in ranks:
            os.waitpid(rank, 0)
        print("ended", flush=True)
