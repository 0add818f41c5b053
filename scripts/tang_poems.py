"""Tang poems as text in three splits, for `scripts/measure_language_model.py --blank-lines --kind word`.

    python scripts/tang_poems.py chinese-poetry.tar.xz OUT

The archive is a copy of github.com/chinese-poetry/chinese-poetry; nothing is unpacked to disk. A couplet is a line, a blank line
ends a poem; a poem that stood before is left out. Of all poems 5 % are for validation and 5 % to test, by hash of their text. The
same archive gives the same bytes.
"""

import argparse
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

from stemma.config import Splits
from stemma.data.splits import SPLITS, split_of
from stemma.files import write_text

SHARES = Splits(validation=0.05, test=0.05)


def main() -> None:
    """Read, divide and write."""
    parser = argparse.ArgumentParser(description="Write Tang poems as text in three splits.")
    parser.add_argument("archive", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    poems = list(dict.fromkeys(read_poems(arguments.archive)))
    for split in SPLITS:
        chosen = [poem for poem in poems if split_of(poem, SHARES) == split]
        write_text(arguments.out / f"{split}.txt", "\n".join(chosen))
        print(f"{arguments.out / split}.txt: {len(chosen):,} poems")


def read_poems(archive: Path) -> Iterator[str]:
    """The poems of every file of Tang poems, by the files' names, each with a newline behind every couplet."""
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            if Path(member.name).name.startswith("poet.tang.") and member.isfile():
                file = tar.extractfile(member)
                assert file is not None
                for poem in json.load(file):
                    couplets = [couplet.strip() for couplet in poem["paragraphs"] if couplet.strip()]
                    if couplets:
                        yield "".join(f"{couplet}\n" for couplet in couplets)


if __name__ == "__main__":
    main()
