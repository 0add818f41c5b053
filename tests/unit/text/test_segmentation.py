import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma import config
from stemma.text.encoding import SentenceEncoder
from stemma.text.segmentation import chinese_pre_tokenizer, load_segmenter
from stemma.text.vocabulary import learn_tokenizer, load_tokenizer, save_tokenizer

SEGMENTED = [
    ("他买了一个苹果。", "他 买 了 一个 苹果 。"),
    ("我喝茶，你吃梨！", "我 喝茶 ， 你 吃 梨 ！"),
    ("café咖啡 2.5元", "café 咖啡 2 . 5 元"),
    ("苹\u200b果", "苹果"),  # what the normaliser removes parts no word
    ("plain English, with marks", "plain English , with marks"),
    ("", ""),
]
WORDS = [(word, 9) for _, text in SEGMENTED for word in dict.fromkeys(text.split())]


@pytest.mark.parametrize(("text", "expected"), SEGMENTED)
def test_words_have_spaces_between_them(text: str, expected: str) -> None:
    assert load_segmenter()([text]) == [expected]


def test_places_are_those_in_the_text() -> None:
    text = "我有iPhone手机，很好"
    pieces = chinese_pre_tokenizer().pre_tokenize_str(text)
    assert [text[start:end] for _, (start, end) in pieces] == [word for word, _ in pieces]
    assert [word for word, _ in pieces] == ["我", "有", "iPhone", "手机", "，", "很", "好"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jieba")
    values = {"corpus": "c", "kind": "jieba", "vocabulary_size": 60, "min_frequency": 1, "lowercase": True}
    asked = config.Tokenizer.model_validate(values)
    save_tokenizer(learn_tokenizer(WORDS, asked), asked, path)
    return path


@settings(deadline=None)  # the first example loads the dictionary
@given(texts=st.lists(st.text("我想要吃喝一个苹果梨茶aÉ1. ，。\n\u200b𠀁", max_size=30), max_size=5))
def test_the_store_and_the_scorer_see_the_same_words(folder: Path, texts: list[str]) -> None:
    """The stage parts words first and encodes each distinct one once; a scorer's tokenizer gets plain text."""
    encoder = SentenceEncoder(load_tokenizer(folder, segmented=True), at_spaces=True, segment=load_segmenter())
    ids, lengths, num_words = encoder.encode(texts)
    expected = [encoded.ids for encoded in load_tokenizer(folder).encode_batch(texts, add_special_tokens=False)]
    assert lengths.tolist() == [len(row) for row in expected]
    assert ids.tolist() == [number for row in expected for number in row]
    assert num_words == len(ids)


def test_threads_cut_alike(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    text = "我喝茶，你吃一个苹果。" * 20
    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(ids) for ids in pool.map(lambda _: tokenizer.encode(text).ids, range(16))}) == 1


def test_a_long_run_is_cut_in_reasonable_time() -> None:
    text = "龘" * 20_000  # the hidden Markov model's time would be quadratic
    assert "".join(load_segmenter()([text])[0].split()) == text


def test_nothing_is_written_or_said(tmp_path: Path) -> None:
    """Not even where no bytecode of jieba is there yet and warnings are errors."""
    code = "from stemma.text.segmentation import load_segmenter; print(load_segmenter()(['一个苹果'])[0])"
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("一个 苹果\n", "")
    assert {path.name for path in tmp_path.iterdir()} <= {"bytecode"}
