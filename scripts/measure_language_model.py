"""Test perplexity of one family on a corpus that comes prepared: in official splits, tokenized, a sentence a line.

Settings are those of `params.yaml` unless set here. The same command, given again, goes on from the last checkpoint.

Usage: python -m scripts.measure_language_model WORK --train FILE --validation FILE --test FILE --family nnlm --set steps=9080
"""

import argparse
import json
import time
from typing import Any

import yaml

from scripts.prepared_text import PreparedText, add_arguments
from stemma.progress import open_progress


def main() -> None:
    """Train, and print settings, metrics, test figures and CPU time."""
    asked = _parse()
    text = PreparedText(asked, asked.family)
    settings = dict(map(_setting, asked.set))
    begun = time.process_time()
    with open_progress("pretrain") as progress:
        metrics = text.train(settings, progress)
    seconds = time.process_time() - begun
    test = {**text.test().as_dict(), "running_perplexity": text.test_running()}
    found = {"settings": settings, "training": metrics, "test": test, "cpu_seconds": round(seconds)}
    print(json.dumps({"family": asked.family, "splits": text.sizes(), **found}, indent=2))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--family", required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="the family's settings, as YAML")
    return parser.parse_args()


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, yaml.safe_load(value)


if __name__ == "__main__":
    main()
