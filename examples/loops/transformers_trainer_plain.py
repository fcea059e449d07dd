"""A character model on the Trainer of transformers: the script without dynhp."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
text = Path(random.__file__).read_text("utf-8")[:9000]  # any text does
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])


class Chars(Dataset[dict[str, torch.Tensor]]):
    def __init__(self, d: torch.Tensor) -> None:
        self.d = d[: len(d) // 32 * 32].view(-1, 32)

    def __len__(self) -> int:
        return len(self.d)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.d[i], "labels": self.d[i]}


transformers.set_seed(0)
config = GPT2Config(vocab_size=len(chars), n_positions=32, n_embd=32, n_layer=1, n_head=2)
model: Any = GPT2LMHeadModel(config)  # type: ignore[no-untyped-call]
args = TrainingArguments(
    "out_hf", num_train_epochs=6, per_device_train_batch_size=32, learning_rate=3e-3,
    eval_strategy="epoch", save_strategy="no", logging_strategy="no", report_to=[], use_cpu=True,
    disable_tqdm=True, seed=0,
)
trainer = Trainer(
    model, args,
    train_dataset=Chars(ids[:8000]), eval_dataset=Chars(ids[8000:]),
)
trainer.train()
print("final", trainer.evaluate()["eval_loss"], trainer.state.global_step, trainer.state.epoch)
torch.save(model.state_dict(), sys.argv[1])
