"""`make bench [NAMES]`: measure every comparison, each module in a process of its own, and write the table.

Keep the machine idle: two threads that wait for each other lose most of their time beside a third. About an hour in all.
"""

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import read_results

MODULES = (
    "startup",
    "tokenizing",
    "cleaning",
    "ngram",
    "glove",
    "word2vec",
    "nnlm",
    "elmo",
    "pretraining",
    "gpt",
    "compiled",
    "finetuning",
    "team",
    "quality",
    "scaling",
)
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def main() -> None:
    """Run the named modules, or all, and write what is known into docs/performance.md."""
    chosen = sys.argv[1:] or MODULES
    unknown = [name for name in chosen if name not in {*MODULES, "table"}]
    if unknown:
        sys.exit(
            f"no benchmark {', '.join(unknown)}; there are {', '.join(MODULES)}, and `table` to write the page alone"
        )
    for name in chosen:
        if name != "table":
            print(f"{name} ...", flush=True)
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
    text = PAGE.read_text(encoding="utf-8")
    page = re.sub(
        r"<!-- table -->\n.*?<!-- /table -->",
        lambda _: f"<!-- table -->\n{table()}\n<!-- /table -->",
        text,
        flags=re.DOTALL,
    )
    PAGE.write_text(page, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(PAGE.parent.parent)}")


def table() -> str:
    """The comparisons and shares that were measured, as Markdown."""
    lines = [
        "| work | against | ours | theirs | ratio (lowest – highest) | floor | aim |",
        "|---|---|---|---|---|---|---|",
    ]
    for _, row in sorted(read_results().items()):
        if "ratio" in row:
            goals = (f"{row['floor']:.2g}×", f"{row['aim']:.2g}×") if row["floor"] else ("–", "–")
            lines.append(
                f"| {row['work']} | {row['against']} | {row['ours']:,.4g} {row['unit']} | {row['theirs']:,.4g} |"
                f" **{row['ratio']:.2f}×** ({row['lowest']:.2f} – {row['highest']:.2f}) | {goals[0]} | {goals[1]} |"
            )
        elif "more" in row:
            lines.append(
                f"| {row['work']} | {row['against']} | {row['ours']:.2f} s | {row['theirs']:.2f} s |"
                f" **+{row['more']:.2f} s** | +{row['limit']} s | – |"
            )
        elif "share" in row:
            shares = f"{row['share']:.0%}; of its best {row['share_of_best']:.0%}"
            lines.append(
                f"| {row['work']}, share of the matrix-multiply rate | the limit | {shares} | 100 % |"
                f" ({row['lowest']:.0%} – {row['highest']:.0%}) | {row['floor']:.0%} | {row['aim']:.0%} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
