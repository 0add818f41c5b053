"""Chinese text through the same stages as any other: from a file to a language model that scores sentences."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stemma.config import Params, load_params
from stemma.data.clean_documents import read_clean
from stemma.data.splits import SPLITS
from stemma.data.token_store import TokenStore
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.gpt.family import FAMILY as GPT_FAMILY
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.model import NgramModel
from stemma.files import read_json
from stemma.text.segmentation import load_segmenter
from stemma.text.vocabulary import load_tokenizer
from tests import toy_bert, toy_corpora, toy_gpt
from tests.toy_stages import run_stages

CORPUS = Path(__file__).parents[2] / "chinese.txt"
PARAMS = load_params(Path(__file__).parents[3] / "params.yaml")
GPT = toy_gpt.SETTINGS | {"hidden_size": 48, "max_length": 24, "steps": 120, "batch_size": 8, "dropout": 0.0}


def settings() -> Params:
    source = {"kind": "files", "paths": ["data/external/chinese.txt"], "format": "blocks", "licence": "CC0"}
    words = {"corpus": "toy", "kind": "jieba", "vocabulary_size": 500, "min_frequency": 1, "lowercase": True}
    checks = {"max_quarantined_share": 0.1, "min_characters": 5, "max_characters": 1000, "max_label_share": 1.0}
    return toy_corpora.params(
        splits={"validation": 0.2, "test": 0.1},
        corpora={"toy": {"kind": "documents", "sources": {"chinese": source}}},
        validation=checks | {"overlap_ngram": 13, "max_overlap_share": 1.0},
        tokenizers={
            "words": words,
            "characters": words | {"kind": "word"},
            "pieces": words | {"kind": "wordpiece"},
        },
        families={"ngram": PARAMS.families["ngram"], "gpt": GPT, "bert": toy_bert.SETTINGS},
        variants={
            "ngram": {"family": "ngram", "corpus": "toy", "tokenizer": "words"},
            "gpt": {"family": "gpt", "corpus": "toy", "tokenizer": "characters"},
            "bert": {"family": "bert", "corpus": "toy", "tokenizer": "pieces"},
        },
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("chinese")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in {"STEMMA_SCRATCH": "scratch", "TOKENIZERS_PARALLELISM": "", "RAYON_NUM_THREADS": ""}.items():
            patch.setenv(name, value)
        words, characters = ("words", "tokens", "ngram"), ("characters", "character-tokens", "gpt")
        run_stages(settings(), CORPUS, [words, characters, ("pieces", "piece-tokens", "bert")])
        yield folder


def sentences(project: Path, split: str) -> list[str]:
    tables = pa.concat_tables(read_clean(project / "clean" / "toy", split))  # type: ignore[arg-type]
    return [sentence for document in tables["sentences"].to_pylist() for sentence in document]


def test_a_character_counts_as_a_word_where_documents_are_weighed(project: Path) -> None:
    report = read_json(project / "clean" / "toy" / "report.json")
    assert report["read"]["documents"] == 14
    assert report["read"]["too_short"] == 1  # 我吃苹果。 is five; 20 are asked for
    assert sum(report["duplicates"]["near"].values()) == 1  # two documents differ in who wants tea
    assert sum(report["written"][split]["documents"] for split in SPLITS) == 12


def test_sentences_end_where_chinese_ones_do(project: Path) -> None:
    found = [sentence for split in SPLITS for sentence in sentences(project, split)]
    assert "我想要吃一个苹果。" in found
    assert "苹果很甜，也很大！" in found
    assert "你想吃苹果还是想吃梨？" in found
    assert "老板说：“今天的苹果很便宜，再买两个吧！”" in found
    assert all(sentence[-1] in "。！？”" for sentence in found)


def test_the_vocabulary_has_words_by_their_count(project: Path) -> None:
    segmented = load_segmenter()(sentences(project, "train"))
    counts = Counter(word for sentence in segmented for word in sentence.split())
    expected = sorted(counts, key=lambda word: (-counts[word], word))
    vocabulary = load_tokenizer(project / "words", segmented=True).get_vocab()
    assert sorted(vocabulary, key=lambda word: vocabulary[word])[7:] == expected
    assert {"苹果", "一个", "想要", "，", "。"} <= set(expected)


def test_the_store_holds_every_word(project: Path) -> None:
    words = load_tokenizer(project / "words")
    for split in SPLITS:
        store = TokenStore.open(project / "tokens" / split)
        found = [store.sentence(s).tolist() for d in range(store.num_documents) for s in store.document(d)]
        texts = sentences(project, split)
        assert found == [words.encode(text, add_special_tokens=False).ids for text in texts]
        assert store.num_bytes == sum(len(text.encode()) for text in texts)
    report = read_json(project / "tokens" / "report.json")["splits"]
    assert (report["train"]["unknown_rate"], report["train"]["fertility"]) == (0.0, 1.0)


def test_the_model_counts_and_scores_plain_text(project: Path) -> None:
    model, words = NgramModel.open(project / "ngram"), load_tokenizer(project / "words")
    texts = load_segmenter()(sentences(project, "train"))
    number = words.token_to_id("苹果")
    assert model.values("counts", 1)[number] == sum(text.split().count("苹果") for text in texts) > 5
    assert NGRAM.load_scorer is not None
    scores = NGRAM.load_scorer(project / "ngram").score(["我想要吃一个苹果。", "苹果一个吃想要我。"])
    assert scores.num_predictions.tolist() == [7, 7]
    assert scores.num_unknown.tolist() == [0, 0]
    assert scores.nats[0] < scores.nats[1]


def test_bert_reads_characters_as_its_chinese_release_does(project: Path) -> None:
    """Every Chinese character is a token of its own, also where no space stands; nothing goes on a word but Latin letters."""
    characters = load_tokenizer(project / "pieces")
    text = "我想要吃一个苹果，也要 tea。"
    pieces = characters.encode(text, add_special_tokens=False).tokens
    assert pieces[:10] == ["我", "想", "要", "吃", "一", "个", "苹", "果", "，", "也"]
    assert not any(piece.startswith("##") and not piece[2:].isascii() for piece in characters.get_vocab())
    store = TokenStore.open(project / "piece-tokens" / "train")
    found = [store.sentence(s).tolist() for d in range(store.num_documents) for s in store.document(d)]
    for sentence, ids in zip(sentences(project, "train"), found, strict=True):
        if sentence.isalpha() or not any(character.isascii() for character in sentence):
            assert [characters.id_to_token(id_) for id_ in ids] == list(sentence)


def test_bert_trains_on_characters_scores_and_fills(project: Path) -> None:
    assert read_json(project / "bert" / "metrics.json")["steps"] == toy_bert.SETTINGS["steps"]
    assert BERT.load_scorer is not None
    scores = BERT.load_scorer(project / "bert").score(["我想要吃一个苹果。"])
    assert scores.num_predictions.tolist() == [9]
    assert scores.num_unknown.tolist() == [0]
    assert BERT.load_filler is not None
    (fillings,) = BERT.load_filler(project / "bert").fill("我想要吃一个[MASK]果。", 3)
    assert len(fillings) == 3
    assert all(
        len(filling.word) == 1 or filling.word.startswith(("[", "##")) or filling.word.isascii() for filling in fillings
    )


def test_gpt_continues_a_text_character_by_character(project: Path) -> None:
    """It was trained on these few sentences until it knew them."""
    assert GPT_FAMILY.load_generator is not None
    generator = GPT_FAMILY.load_generator(project / "gpt")
    asked: dict[str, Any] = {"temperature": 0.0, "top_k": None, "seed": 1}
    known = "".join(sentences(project, "train"))
    written = [generator.go_on(text[:5], tokens=4, **asked) for text in sentences(project, "train")[:8]]
    for line, text in zip(written, sentences(project, "train"), strict=False):
        assert line.startswith(text[:5])
        assert len(line) == 9
        assert all(pair in known for pair in map("".join, pairwise(line))), "no two characters that never met"
    assert sum(line in known for line in written) >= 4
    longer = generator.go_on("我想要吃一个苹果。", tokens=60, **asked)
    assert 9 < len(longer) <= 69
    assert " " not in longer
