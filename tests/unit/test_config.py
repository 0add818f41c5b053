"""`params.yaml`: what is refused, and that the message names the key."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stemma.config import Params, Task, load_params, parse_settings, resolve_path
from stemma.errors import InputError, SettingsError
from stemma.families import check_families

PROJECT = Path(__file__).resolve().parents[2]
Settings = dict[str, Any]


@pytest.fixture
def settings() -> Settings:
    values: Settings = yaml.safe_load((PROJECT / "params.yaml").read_text())
    return copy.deepcopy(values)


def load(settings: Settings, folder: Path) -> Params:
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(settings))
    params = load_params(path)
    check_families(params)
    return params


def put(key: str, value: object) -> Callable[[Settings], None]:
    """A change of one setting; `a.b` is `b` inside `a`."""
    *parents, last = key.split(".")

    def change(settings: Settings) -> None:
        for parent in parents:
            settings = settings.setdefault(parent, {})
        settings[last] = value

    return change


def drop(key: str) -> Callable[[Settings], None]:
    *parents, last = key.split(".")

    def change(settings: Settings) -> None:
        for parent in parents:
            settings = settings[parent]
        del settings[last]

    return change


def pair(variant: str, family: str, task: str) -> dict[str, str]:
    return {"variant": variant, "family": family, "task": task}


VARIANT = {"family": "bert", "corpus": "stories", "tokenizer": "wordpiece"}
REFUSED: dict[str, tuple[Callable[[Settings], object], str]] = {
    "unknown key": (put("colour", "red"), "colour: unknown key"),
    "unknown key inside": (put("validation.max_characterz", 5), "validation.max_characterz: unknown key"),
    "missing key": (drop("cleaning.unicode"), "cleaning.unicode: Field required"),
    "share above one": (put("splits.test", 1.5), "splits.test: Input should be less than or equal to 1"),
    "share below zero": (put("validation.max_quarantined_share", -0.1), "validation.max_quarantined_share: Input should"),
    "nothing to train on": (put("splits.test", 0.95), "splits: validation and test together leave nothing to train on"),
    "zero where a count is": (put("finetuning.epochs", 0), "finetuning.epochs: Input should be greater than 0"),
    "text where a number is": (put("seed", "one"), "seed: Input should be a valid integer"),
    "no seeds": (put("finetuning.seeds", []), "finetuning.seeds: List should have at least 1 item"),
    "a grid of no rates": (
        put("finetuning.grid", {"epochs": [3], "batch_size": [32], "learning_rate": []}),
        "finetuning.grid.learning_rate: List should have at least 1 item",
    ),
    "a grid beside the single value": (
        put("finetuning.grid", {"epochs": [2, 4], "batch_size": [32], "learning_rate": [0.0005]}),
        "finetuning: grid.epochs: give 3, the single value, and others, each once",
    ),
    "a grid with a value twice": (
        put("finetuning.grid", {"epochs": [3], "batch_size": [32, 32], "learning_rate": [0.0005]}),
        "finetuning: grid.batch_size: give 32, the single value, and others, each once",
    ),
    "no word of a grid": (drop("finetuning.grid"), "finetuning.grid: Field required"),
    "a choice that is none": (put("cleaning.unicode", "ASCII"), "cleaning.unicode: Input should be 'NFC' or 'NFKC'"),
    "no such corpus": (put("tokenizers.word.corpus", "news"), "tokenizers.word.corpus: no 'news' among invented, stories"),
    "no such family": (put("variants.bert.family", "xlnet"), "variants.bert.family: no 'xlnet' among bert, "),
    "a family of no one": (put("families.xlnet", {}), "families.xlnet: no such family; there are bert, "),
    "no such variant": (
        put("pairs.gpt-out-of-order", pair("xlnet", "bert", "out-of-order")),
        "pairs.gpt-out-of-order.variant: no 'xlnet' among",
    ),
    "no such task": (put("pairs.bert-glue", pair("bert", "bert", "glue")), "pairs.bert-glue.task: no 'glue' among"),
    "a pair that can't be": (
        put("pairs.ngram-out-of-order", pair("ngram", "ngram", "out-of-order")),
        "pairs.ngram-out-of-order: family 'ngram' can't do a span task: it says how likely a text is, not where",
    ),
    "a pair with another family": (
        put("pairs.bert-out-of-order.family", "ngram"),
        "pairs.bert-out-of-order.family: variant 'bert' is of family 'bert'",
    ),
    "a pair with another name": (
        put("pairs.both", pair("bert", "bert", "out-of-order")),
        "pairs.both: the key must be 'bert-out-of-order'",
    ),
    "a transfer from no pair": (
        put("transfers.bert-via-nothing", {"pair": "bert-nothing", "variant": "bert", "family": "bert"}),
        "transfers.bert-via-nothing.pair: no 'bert-nothing' among bert-odd-words, ",
    ),
    "a transfer from itself": (
        lambda settings: [
            put("transfers.bert-again", {"pair": "bert-again-odd-words", "variant": "bert", "family": "bert"})(settings),
            put("pairs.bert-again-odd-words", pair("bert-again", "bert", "odd-words"))(settings),
        ],
        "transfers.bert-again.pair: 'bert-again-odd-words' is itself tuned from a transfer; name a pair of a variant that",
    ),
    "a transfer with the name of a variant": (
        put("transfers.bert", {"pair": "bert-odd-words", "variant": "bert", "family": "bert"}),
        "transfers.bert: a variant has this name",
    ),
    "a transfer of another variant": (
        put("transfers.other", {"pair": "bert-odd-words", "variant": "bert-untrained", "family": "bert"}),
        "transfers.other.variant: that of 'bert-odd-words' is 'bert'",
    ),
    "a transfer of another family": (
        put("transfers.other", {"pair": "bert-odd-words", "variant": "bert", "family": "gpt"}),
        "transfers.other.family: that of 'bert-odd-words' is 'bert'",
    ),
    "a transfer that can't be": (
        put("transfers.other", {"pair": "elmo-word-order", "variant": "elmo", "family": "elmo"}),
        "transfers.other: family 'elmo' can't do it: its tasks learn in networks of their own",
    ),
    "a transfer of what is frozen": (
        lambda settings: [
            put("families.bert.tune", "frozen")(settings),
            put("transfers.other", {"pair": "bert-odd-words", "variant": "bert", "family": "bert"})(settings),
        ],
        "transfers.other: family 'bert' can't do it: it is frozen (tune: frozen)",
    ),
    "a pair from a transfer with another family": (
        lambda settings: [
            put("transfers.other", {"pair": "bert-odd-words", "variant": "bert", "family": "bert"})(settings),
            put("pairs.other-word-order", pair("other", "gpt", "word-order"))(settings),
        ],
        "pairs.other-word-order.family: variant 'other' is of family 'bert'",
    ),
    "a floor for no task": (put("release.floors", {"glue": 0.5}), "release.floors: no 'glue' among"),
    "a note of no column": (put("evaluation.notes", {"glue": "dev"}), "evaluation.notes: no 'glue' among"),
    "shell characters in a variant": (put("variants.bert; touch pwned", VARIANT), "is not a name: use small letters"),
    "a substitution in a task": (put("tasks.$(touch pwned)", {}), "is not a name: use small letters"),
    "a path in a corpus": (put("corpora.../../etc", {}), "is not a name: use small letters"),
    "a space in a tokenizer": (put("tokenizers.word piece", {}), "is not a name: use small letters"),
    "a leading dash": (put("variants.--out=x", VARIANT), "is not a name: use small letters"),
    "a line feed in a name": (put("variants.a\nb", VARIANT), "is not a name: use small letters"),
    "one label": (put("tasks.word-order.labels", ["natural"]), "tasks.word-order: a classification task needs at least two"),
    "one choice": (put("tasks.right-ending.labels", ["first"]), "a choice task's labels name its choices, at least two"),
    "tags without O": (put("tasks.odd-words.labels", ["B-PER"]), "a tagging task's labels are BIO tags and include 'O'"),
    "labels for spans": (put("tasks.out-of-order.labels", ["yes"]), "tasks.out-of-order: a span task has no labels"),
    "a metric of another kind": (put("tasks.out-of-order.metric", "entity_f1"), "metric 'entity_f1' does not score a span task"),
    "a checksum that is none": (
        put("corpora.stories.sources.own", {
            "kind": "files", "paths": ["a.txt"], "format": "text", "licence": "CC0", "sha256": {"a.txt": "abc"},
        }),
        "corpora.stories.sources.own.files.sha256.a.txt: String should match pattern",
    ),
    "documents in a parallel corpus": (
        put("corpora.stories.kind", "parallel"),
        "corpora.stories: sources.stories: a source of kind 'generated' does not make a corpus of 'parallel'",
    ),
    "pairs in a corpus of documents": (put("corpora.invented.kind", "documents"), "a source of kind 'generated-pairs' does not"),
    "three aligned files": (
        put("corpora.invented.sources.own", {"kind": "parallel-files", "files": ["a", "b", "c"], "licence": "CC0"}),
        "corpora.invented.sources.own.parallel-files.files",
    ),
    "a split of no one": (
        put("corpora.invented.sources.own", {"kind": "parallel-files", "files": {"dev": ["a", "b"]}, "licence": "CC0"}),
        "Input should be 'train', 'validation' or 'test'",
    ),
    "a task of pairs": (
        put("tasks.word-order.source.corpus", "invented"),
        "tasks.word-order.source.corpus: a task is made from documents, not from pairs",
    ),
    "a language model of pairs": (
        put("variants.bert-pairs", {"family": "bert", "corpus": "invented", "tokenizer": "pairs"}),
        "variants.bert-pairs.corpus: family 'bert' is trained on a corpus of kind 'documents', which 'invented' is not",
    ),
    "a translation of documents": (
        put("variants.transformer-stories", {"family": "transformer", "corpus": "stories", "tokenizer": "wordpiece"}),
        "family 'transformer' is trained on a corpus of kind 'parallel', which 'stories' is not",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_settings_are_named_in_one_line(name: str, settings: Settings, tmp_path: Path) -> None:
    change, message = REFUSED[name]
    change(settings)
    with pytest.raises(SettingsError) as raised:
        load(settings, tmp_path)
    assert message in str(raised.value)
    assert "params.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_projects_own_settings_and_every_profile_are_accepted(tmp_path: Path) -> None:
    for path in [PROJECT / "params.yaml", *sorted((PROJECT / "profiles").glob("*.yaml"))]:
        check_families(load_params(path))


def test_a_variant_overrides_its_familys_settings(settings: Settings, tmp_path: Path) -> None:
    params = load(settings, tmp_path)
    assert params.family_settings("bert-untrained") == {**settings["families"]["bert"], "steps": 0}


@pytest.mark.parametrize("text", ["seed: [1", "seed: 1\n\tsplits: {}", "a: &x [*x", "- 1"])
def test_what_is_no_yaml_of_settings_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"params\.yaml: ") as raised:
        load_params(path)
    assert "\n" not in str(raised.value)


def test_settings_that_are_no_text_or_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"params\.yaml: no such file; run from the project's top folder"):
        load_params(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_bytes(b"seed: \xff\n")
    with pytest.raises(InputError, match=r"params\.yaml: not valid UTF-8"):
        load_params(tmp_path / "params.yaml")


def test_paths_below_the_shared_data() -> None:
    assert resolve_path("data/external/a.txt") == Path("data/external/a.txt")
    assert resolve_path("$STEMMA_DATA/glue/a.tsv", {"STEMMA_DATA": "/data"}) == Path("/data/glue/a.tsv")
    with pytest.raises(InputError, match="set STEMMA_DATA"):
        resolve_path("$STEMMA_DATA/glue/a.tsv", {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "regression", "labels": [], "metric": "spearman"}, "score_range: a regression task needs"),
        (
            {"kind": "regression", "labels": [], "metric": "spearman", "score_range": [5, 0]},
            "score_range: two numbers, the lower first",
        ),
        ({"score_range": [0, 1]}, "score_range: a regression task needs"),
        ({"document_context": True}, "document_context: a classification task has no rows that are read with"),
        ({"unanswerable": True}, "unanswerable: a classification task asks no questions"),
        ({"metric": "spearman"}, "metric 'spearman' does not score a classification task"),
    ],
)
def test_a_task_of_which_one_setting_does_not_fit_another(changes: dict[str, Any], message: str) -> None:
    source = {"kind": "files", "format": "tsv", "files": {}}
    task = {"kind": "classification", "source": source, "labels": ["a", "b"], "metric": "accuracy", "max_length": 8}
    with pytest.raises(SettingsError, match=message):
        parse_settings(Task, {**task, **changes}, "params.yaml")


@pytest.mark.parametrize(
    ("tuned_on", "message"),
    [
        ("nothing", "tasks.other.tuned_on: no 'nothing' among"),
        ("odd-words", "tasks.other.tuned_on: 'odd-words' is of another kind or has other labels"),
        ("other", "tasks.other.tuned_on: name a task with models of its own"),
    ],
)
def test_models_come_from_a_task_like_it(tuned_on: str, message: str) -> None:
    values = load_params(PROJECT / "params.yaml").model_dump()
    values["tasks"]["other"] = {**values["tasks"]["word-order"], "tuned_on": tuned_on}
    with pytest.raises(SettingsError, match=message):
        parse_settings(Params, values, "params.yaml")
