"""Stage `prepare`: tasks from files and from a local copy of the Hub's layout, and what it refuses."""

import gzip
import hashlib
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.config import Params, parse_settings
from stemma.data.splits import split_of
from stemma.errors import InputError, SettingsError
from stemma.files import digest_tree
from stemma.progress import NullProgress
from stemma.stages import prepare
from stemma.tasks.base import ROW_SCHEMAS, SPLITS
from stemma.tasks.probes import PROBE_SCHEMAS
from tests import toy_inputs


def run(tasks: dict[str, Any], out: str = "raw/tasks") -> Path:
    prepare.run(
        toy_inputs.params(tasks),
        NullProgress(),
        corpora=Path("raw/corpora"),
        external=Path("data/external"),
        out=Path(out),
        probes=Path("raw/probes"),
    )
    return Path(out)


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data/external").mkdir(parents=True)


def write_splits(kind: str, count: int = 5) -> dict[str, list[str]]:
    files = {}
    for split in SPLITS:
        path = Path(f"data/external/{kind}-{split}.jsonl")
        toy_inputs.write_jsonl(path, toy_inputs.rows(kind, split, count))
        files[split] = [str(path)]
    return files


@pytest.mark.parametrize("kind", ["classification", "span", "tagging", "choice"])
def test_files_become_rows_of_the_kinds_schema(kind: str) -> None:
    out = run({"toy": toy_inputs.task(kind, write_splits(kind))})
    for split in SPLITS:
        file = pq.ParquetFile(out / f"toy/{split}.parquet")
        assert file.schema_arrow.equals(ROW_SCHEMAS[kind])  # type: ignore[index]
        assert file.read().to_pylist() == toy_inputs.rows(kind, split, 5)


def test_the_same_files_give_the_same_bytes() -> None:
    tasks = {"toy": toy_inputs.task("span", write_splits("span"))}
    assert digest_tree([run(tasks, "one")]) == digest_tree([run(tasks, "two")])


def test_rows_lie_in_groups_that_bound_the_memory() -> None:
    rows = toy_inputs.rows("classification", "train", 9000)
    files = write_splits("classification")
    toy_inputs.write_jsonl(Path(files["train"][0]), rows)
    out = run({"toy": toy_inputs.task("classification", files)})
    metadata = pq.read_metadata(out / "toy/train.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [4000, 4000, 1000]


def test_a_file_outside_external_needs_its_checksum_and_must_match_it(tmp_path: Path) -> None:
    files = write_splits("tagging")
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(Path(files["test"][0]).read_bytes())
    digest = hashlib.sha256(outside.read_bytes()).hexdigest()
    files["test"] = [str(outside)]
    with pytest.raises(InputError, match=rf"outside\.jsonl: lies outside data/external; state its sha256 \({digest}\)"):
        run({"toy": toy_inputs.task("tagging", files)})
    with pytest.raises(InputError, match=rf"outside\.jsonl: its sha256 is {digest}, expected {'0' * 64}"):
        run({"toy": toy_inputs.task("tagging", files, sha256={str(outside): "0" * 64})})
    assert run({"toy": toy_inputs.task("tagging", files, sha256={str(outside): digest})}).is_dir()


def test_data_that_an_environment_variable_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_splits("tagging")
    name = f"$STEMMA_DATA/{Path(files['test'][0]).name}"
    digest = hashlib.sha256(Path(files["test"][0]).read_bytes()).hexdigest()
    tasks = {"toy": toy_inputs.task("tagging", {**files, "test": [name]}, sha256={name: digest})}
    monkeypatch.delenv("STEMMA_DATA", raising=False)
    with pytest.raises(InputError, match="set STEMMA_DATA"):
        run(tasks)
    monkeypatch.setenv("STEMMA_DATA", str(tmp_path / "data/external"))
    assert run(tasks).is_dir()


def test_a_missing_split_is_named_before_anything_is_read() -> None:
    files = {"train": ["data/external/none.jsonl"]}
    with pytest.raises(SettingsError, match=r"^params\.yaml: tasks\.toy\.source: no validation and no test split"):
        run({"toy": toy_inputs.task("tagging", files)})


def test_a_setting_that_cannot_be_is_named_with_its_task() -> None:
    with pytest.raises(
        SettingsError, match=r"^params\.yaml: tasks\.toy\.source: format 'conll' does not hold span tasks"
    ):
        run({"toy": toy_inputs.task("span", write_splits("span"), layout="conll")})


def test_an_offline_task_comes_from_documents_of_its_own_split() -> None:
    params = toy_inputs.params({})
    sentences = (
        f"The {word} of river number {number} was found by Anna." for number in range(60) for word in toy_inputs.WORDS
    )
    documents = [
        {**toy_inputs.document(number), "source": "stories", "text": "\n".join(islice(sentences, 12))}
        for number in range(60)
    ]
    toy_inputs.write_corpus(Path("raw/corpora/stories"), documents)
    source = {
        "kind": "offline",
        "recipe": "word-order",
        "corpus": "stories",
        "sources": ["stories"],
        "examples": {"train": 20, "validation": 4, "test": 6},
    }
    task = {**toy_inputs.task("classification"), "labels": ["scrambled", "natural"], "source": source}
    out = run({"toy": task})
    for split, count in source["examples"].items():  # type: ignore[attr-defined]
        rows = pq.read_table(out / f"toy/{split}.parquet").to_pylist()
        assert len(rows) == count
        assert {split_of(row["document"], params.splits) for row in rows} == {split}
    with pytest.raises(
        SettingsError, match=r"^params\.yaml: tasks\.toy\.source: recipe 'word-order' makes no span task"
    ):
        run({"toy": {**toy_inputs.task("span"), "source": source}})


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    files = write_splits("span")
    out = run({"toy": toy_inputs.task("span", files)})
    before = digest_tree([out])
    Path(files["test"][0]).write_text("{\n")
    with pytest.raises(InputError, match=r"^data/external/span-test\.jsonl:1: not valid JSON"):
        run({"toy": toy_inputs.task("span", files)})
    assert digest_tree([out]) == before
    assert sorted(path.name for path in Path("raw").iterdir()) == ["probes", "tasks"]


HUB = {"kind": "hub", "dataset": "local", "revision": "main", "splits": {split: split for split in SPLITS}}


def write_hub(rows: list[dict[str, Any]]) -> None:
    Path("local").mkdir()
    for split in SPLITS:
        pq.write_table(pa.Table.from_pylist(rows), f"local/{split}-00000-of-00001.parquet")


def test_a_local_copy_of_the_hubs_layout_gives_labels_by_name() -> None:
    import datasets

    label = datasets.ClassLabel(names=["bad", "good"])
    features = datasets.Features({"sentence": datasets.Value("string"), "grade": label})
    for split in SPLITS:
        rows = datasets.Dataset.from_dict(
            {"sentence": [f"{split} a", f"{split} b"], "grade": [0, 1]}, features=features
        )
        rows.to_parquet(f"local/{split}-00000-of-00001.parquet")
    source = {**HUB, "columns": {"text": "sentence", "label": "grade"}}
    out = run({"toy": {**toy_inputs.task("classification"), "source": source}})
    assert pq.read_table(out / "toy/test.parquet").to_pylist() == [
        {"id": "test-0", "document": "", "text": "test a", "text_pair": None, "label": "bad"},
        {"id": "test-1", "document": "", "text": "test b", "text_pair": None, "label": "good"},
    ]
    source = {**HUB, "columns": {"text": "sentence", "label": "grade"}, "splits": {**HUB["splits"], "test": "dev"}}  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"^local@main dev: can't be loaded: Bad split: dev"):
        run({"toy": {**toy_inputs.task("classification"), "source": source}})


def test_columns_that_the_hub_does_not_have_are_named() -> None:
    write_hub([{"sentence": "a", "label": "good"}])
    source = {**HUB, "columns": {"text": "words"}}
    with pytest.raises(
        InputError, match=r"local@main train: row 0: no 'words' for 'text'; there are 'label', 'sentence'"
    ):
        run({"toy": {**toy_inputs.task("classification"), "source": source}})


def test_hub_spans_come_with_answers_as_lists() -> None:
    record = {
        "id": "q",
        "title": "t",
        "context": "ab",
        "question": "?",
        "answers": {"text": ["b"], "answer_start": [1]},
    }
    write_hub([record])
    out = run({"toy": {**toy_inputs.task("span"), "source": {**HUB, "columns": {"document": "title"}}}})
    rows = pq.read_table(out / "toy/train.parquet").to_pylist()
    assert rows == [
        {"id": "q", "document": "t", "context": "ab", "question": "?", "answers": [{"text": "b", "start": 1}]}
    ]


def run_probes(**probes: Any) -> Path:
    values = toy_inputs.settings({}) | {"probes": probes}
    out = Path("raw/probes")
    prepare.run(
        parse_settings(Params, values, "params.yaml"),
        NullProgress(),
        corpora=Path("raw/corpora"),
        external=Path("data/external"),
        out=Path("raw/tasks"),
        probes=out,
    )
    return out


def bundled(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "source": {"kind": "bundled", "name": name}}


def offline(kind: str, recipe: str, questions: int) -> dict[str, Any]:
    return {"kind": kind, "source": {"kind": "offline", "recipe": recipe, "questions": questions}}


def test_probes_become_files_of_their_kinds_schema() -> None:
    path = Path("data/external/own.txt")
    path.write_text("北京 上海 0.5\n")
    out = run_probes(
        wordsim=bundled("similarity", "wordsim353"),
        simlex=bundled("similarity", "simlex999"),
        google=bundled("analogy", "google-analogies"),
        kinds=offline("similarity", "story-kinds", 20),
        own={"kind": "similarity", "source": {"kind": "files", "paths": [str(path)]}},
    )
    tables = {file.stem: pq.read_table(file) for file in sorted(out.iterdir())}
    sizes = {"google": 19544, "kinds": 20, "own": 1, "simlex": 999, "wordsim": 353}
    assert {name: len(table) for name, table in tables.items()} == sizes
    assert tables["google"].schema.equals(PROBE_SCHEMAS["analogy"])
    assert tables["own"].to_pylist() == [{"first": "北京", "second": "上海", "score": 0.5}]
    assert tables["wordsim"]["score"].to_pylist()[:2] == [6.77, 7.35]


def test_the_same_probes_give_the_same_bytes_and_another_set_leaves_no_file_behind() -> None:
    kinds = {"kinds": offline("similarity", "story-kinds", 50), "plurals": offline("analogy", "story-plurals", 50)}
    first = digest_tree([run_probes(**kinds)])
    assert digest_tree([run_probes(**kinds)]) == first
    assert list(run_probes().iterdir()) == []


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        (offline("analogy", "story-kinds", 5), "makes a probe of kind 'similarity', not 'analogy'"),
        (
            offline("analogy", "story-ends", 5),
            "no recipe 'story-ends'; there are story-kinds, story-pairs, story-plurals",
        ),
        (offline("analogy", "story-plurals", 30_000), "has no 30000 different questions; ask for fewer"),
    ],
)
def test_a_probe_that_can_not_be_is_named_with_its_key(probe: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=rf"^params\.yaml: probes\.toy\.source: .*{message}"):
        run_probes(toy=probe)


def test_a_bundled_set_of_another_kind_is_refused_at_its_first_line() -> None:
    with pytest.raises(InputError, match=r"wordsim353:3: expected four words, found 3"):
        run_probes(toy=bundled("analogy", "wordsim353"))


METHODS = {"simple_LM_method": True, "one_prefix_method": False, "two_prefix_method": False}


def write_pairs(folder: Path, paradigm: str, number: int, **others: bool) -> None:
    lines = (
        {
            "UID": paradigm,
            "linguistics_term": "toys",
            "pairID": str(n),
            "sentence_good": f"Good {n}",
            "sentence_bad": "Bad",
            **others,
        }
        for n in range(number)
    )
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{paradigm}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def pairs_of(folder: Path, **settings: Any) -> list[tuple[str, str]]:
    source = {"kind": "files", "paths": [str(folder)], "exclude": ["*summary*"], **settings}
    out = run_probes(toy={"kind": "minimal-pairs", "source": source})
    table = pq.read_table(out / "toy.parquet")
    return list(zip(table["paradigm"].to_pylist(), table["good"].to_pylist(), strict=True))


def test_a_folder_of_paradigms_is_a_probe_without_the_summary_beside_them() -> None:
    folder = Path("data/external/blimp")
    write_pairs(folder, "walks", 3)
    write_pairs(folder, "runs", 2)
    (folder / "published_summary.jsonl").write_text('{"UID": "walks", "gpt2": 0.9}\n')
    assert pairs_of(folder) == [
        ("runs", "Good 0"),
        ("runs", "Good 1"),
        ("walks", "Good 0"),
        ("walks", "Good 1"),
        ("walks", "Good 2"),
    ]
    with pytest.raises(InputError, match=r"blimp/published_summary\.jsonl:1: no 'sentence_good'"):
        pairs_of(folder, exclude=[])


def test_blimp_that_is_not_whole_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    folder = Path("data/external/blimp")
    write_pairs(folder, "walks", 1000, **METHODS)
    write_pairs(folder, "runs", 999, **METHODS)
    assert len(pairs_of(folder, max_pairs=10)) == 20
    assert caplog.messages == [
        "probes/toy: 2 paradigms of BLiMP, but 67 were published",
        "probes/toy: 1 paradigms of BLiMP have other than the 1,000 pairs published: runs 999",
    ]


@pytest.mark.parametrize(("paradigms", "pairs", "fields"), [(67, 1000, METHODS), (2, 3, {})])
def test_whole_blimp_with_fewer_pairs_asked_for_and_a_set_of_ones_own_are_none(
    caplog: pytest.LogCaptureFixture, paradigms: int, pairs: int, fields: dict[str, bool]
) -> None:
    folder = Path("data/external/blimp")
    for number in range(paradigms):
        write_pairs(folder, f"paradigm{number}", pairs, **fields)
    assert len(pairs_of(folder, max_pairs=2)) == 2 * paradigms
    assert caplog.messages == []


def test_a_folder_elsewhere_needs_one_sha256_over_the_files_that_are_read() -> None:
    folder = Path("elsewhere")
    write_pairs(folder, "walks", 1)
    digest = digest_tree([folder])
    (folder / "summary").write_text("of another kind")
    with pytest.raises(InputError, match=rf"elsewhere: lies outside data/external; state its sha256 \({digest}\)"):
        pairs_of(folder)
    assert pairs_of(folder, sha256={"elsewhere": digest}) == [("walks", "Good 0")]


def test_of_each_paradigm_the_pairs_with_the_lowest_hashes_are_taken() -> None:
    folder = Path("data/external/blimp")
    write_pairs(folder, "walks", 40)
    write_pairs(folder, "runs", 5)
    few, more = pairs_of(folder, max_pairs=7), pairs_of(folder, max_pairs=20)
    assert [paradigm for paradigm, _ in few] == ["runs"] * 5 + ["walks"] * 7
    assert set(few) < set(more)
    assert len(more) == 25
    assert few[5:] != [("walks", f"Good {n}") for n in range(7)]  # by hash, not the first


def test_only_minimal_pairs_have_a_number_of_pairs() -> None:
    source = {"kind": "files", "paths": ["x"], "max_pairs": 3}
    with pytest.raises(SettingsError, match=r"probes\.toy: source\.max_pairs: a similarity probe has no pairs"):
        run_probes(toy={"kind": "similarity", "source": source})
