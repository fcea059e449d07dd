"""Adapt learning rate and weight decay of a softmax classifier on scikit-learn's digits."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from sklearn.datasets import load_digits

from dynhp import DynamicGridAdapter, Float, Neighbors, lowest, plan_for, schedule_of
from dynhp.records.provenance import command_here, versions_here
from dynhp.report import LiveDisplay, html_report, schedule_picture, summary, write_html
from softmax import SoftmaxRegression


def main() -> None:
    """Train, and show progress, cost, schedule and where the report is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("out"))
    arguments = parser.parse_args()

    digits = load_digits()
    trainer = SoftmaxRegression(digits.data / 16, digits.target, weight_decay=1e-4, seed=0)
    space = {
        "learning_rate": Float(0.001, 1.0, log=True, points=7),
        "weight_decay": Float(1e-6, 1e-2, log=True, points=5),
    }
    adapter = DynamicGridAdapter(
        trainer,
        space,
        criterion=lowest("val_loss"),
        adapt_every=5,
        try_for=1,
        proposer=Neighbors(),
    )
    plan = plan_for(adapter, arguments.epochs)
    print(f"Plan: {plan}.")
    began = time.perf_counter()
    history = adapter.run(arguments.epochs, progress=LiveDisplay("digits"))
    print(
        f"Trained in {time.perf_counter() - began:.1f} s: validation accuracy "
        f"{trainer.metrics()['val_accuracy']:.3f}\n"
    )
    for name in space:
        print(schedule_picture(history, name) + "\n")
    print(summary(history))
    page = html_report(
        history,
        title="Digits",
        plan=plan,
        hints=adapter.hints,
        settings=adapter.described,
        versions=versions_here(),
        command=command_here(),
    )
    write_html(arguments.out / "digits.html", page)
    (arguments.out / "digits-schedule.json").write_text(schedule_of(history).to_json())
    print(f"\nReport: {arguments.out / 'digits.html'}")


if __name__ == "__main__":
    main()
