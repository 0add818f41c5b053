"""The generated stories: the same every time, and of one grammar."""

import re

from stemma.data.lexicon import COMMON, FIRMS, PEOPLE, TOPICS, TOWNS
from stemma.data.stories import write_stories

STORIES = list(write_stories(60, seed=1))


def test_a_story_is_a_function_of_the_seed_and_its_number() -> None:
    assert list(write_stories(20, seed=1)) == STORIES[:20]
    assert [story.text for story in write_stories(20, seed=2)] != [story.text for story in STORIES[:20]]
    assert len({story.text for story in STORIES}) == len(STORIES)
    assert [story.key for story in STORIES] == [str(number) for number in range(60)]


def test_sentences_begin_with_a_capital_and_end_with_a_full_stop() -> None:
    for story in STORIES:
        for sentence in re.split(r"(?<=\.)\s+", story.text):
            assert re.fullmatch(r"[A-Z].*\.", sentence)


def test_an_article_agrees_with_the_word_behind_it() -> None:
    text = " ".join(story.text for story in STORIES)
    found = re.findall(r"\b(an?) (\w)", text, re.IGNORECASE)
    assert len(found) > 500
    assert {(article.lower(), first in "aeiou") for article, first in found} == {("a", False), ("an", True)}


def test_a_capital_inside_a_sentence_is_a_name_of_the_lexicon() -> None:
    names = {*PEOPLE, *TOWNS, *" ".join(FIRMS).split()}
    inside = {word for story in STORIES for word in re.findall(r"(?<=[a-z,] )[A-Z]\w+", story.text)}
    assert inside
    assert inside <= names


def test_a_story_keeps_to_its_topic_and_its_town() -> None:
    for story in STORIES:
        words = set(re.findall(r"\w+", story.text))
        assert len(words & set(TOWNS)) == 1
        scores = sorted(len(words & set(topic.actions)) for topic in TOPICS.values())
        assert scores[-1] > 0
        assert scores[-2] <= 1  # a few words are of two topics


def test_no_name_has_two_roles_and_comparatives_are_followed_by_than() -> None:
    assert len(set(PEOPLE)) == len(PEOPLE) == 160
    assert not set(PEOPLE) & set(TOWNS)
    text = " ".join(story.text for story in STORIES)
    for word in COMMON.comparatives:
        assert not re.search(rf"\b{word} (?!than\b)", text)
