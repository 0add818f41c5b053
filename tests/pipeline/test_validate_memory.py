"""Peak memory of `validate`: below 1 GB, and no more for ten times the text."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import toy_corpora, toy_inputs

DOCUMENTS = 1000  # about 2.5 MB of text: a whole row group, so that all buffers are full with the smaller size too
PEAK = """
import sys
from stemma.__main__ import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(status.split("VmHWM:")[1].split()[0])
"""


def peak_megabytes(root: Path, num_documents: int) -> float:
    """Validate a corpus of so many distinct documents, and a task with rows in proportion, in a process of its own."""
    corpus = root / "raw/corpora/toy"
    toy_corpora.write_documents(corpus, toy_corpora.texts(num_documents))
    (corpus / "manifest.json").write_text(json.dumps({"sources": {"toy": {}}}))
    splits = {
        split: toy_inputs.rows("classification", split, count)
        for split, count in [
            ("train", 2 * num_documents),
            ("validation", num_documents // 5),
            ("test", num_documents // 5),
        ]
    }
    toy_inputs.write_task(root / "raw/tasks/toy", "classification", splits)
    settings = toy_inputs.settings({"toy": toy_inputs.task("classification")})
    (root / "params.yaml").write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-c", PEAK, "validate", "--corpora", "raw/corpora", "--tasks", "raw/tasks"]
    command += ["--out", "valid", "--quarantine", "quarantine", "--report", "validation.json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((root / "validation.json").read_text())["inputs"]
    assert report["corpora/toy"]["rows"] == num_documents
    return int(done.stdout.split()[-1]) / 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_ten_times_the_text_takes_no_more_memory(tmp_path: Path) -> None:
    for name in ("small", "large"):
        (tmp_path / name).mkdir()
    small = peak_megabytes(tmp_path / "small", DOCUMENTS)
    large = peak_megabytes(tmp_path / "large", 10 * DOCUMENTS)
    assert large < 1000
    assert large < 1.1 * small, f"{small:.0f} MB for {DOCUMENTS} documents, {large:.0f} MB for ten times as many"
