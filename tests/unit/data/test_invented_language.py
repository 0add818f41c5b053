"""The invented language: the same every time, and by its rules."""

import re

from stemma.data.invented_language import write_pairs
from stemma.data.lexicon import COMMON, PEOPLE, TOPICS, TOWNS

PAIRS: list[tuple[str, ...]] = [tuple(document.text.split("\n")) for document in write_pairs(400, seed=1)]


def test_a_pair_is_a_function_of_the_seed_and_its_number() -> None:
    again = list(write_pairs(50, seed=1))
    assert [tuple(document.text.split("\n")) for document in again] == PAIRS[:50]
    assert [document.key for document in again] == [str(number) for number in range(50)]
    assert [document.text for document in write_pairs(50, seed=2)] != [document.text for document in again]


def test_both_sides_are_sentences() -> None:
    for pair in PAIRS:
        assert len(pair) == 2
        assert all(re.fullmatch(r"[A-Z][^.]*\.", side) for side in pair)


def test_the_grammar_on_single_sentences() -> None:
    assert PAIRS[0] == ("A peak cracked behind the valley.", "Gomatair leli ruvoa vuniloek.")
    deeds = [pair for pair in PAIRS if re.fullmatch(r"[A-Z]\w+ \w+ the (\w+ )?\w+ \w+ the \w+\.", pair[0])]
    assert len(deeds) > 20
    for source, target in deeds:
        who = source.split()[0]
        place, behind, subject, *_, verb = target.rstrip(".").split()
        assert place.endswith("tair"), "the place first, with its ending, and its preposition behind it"
        assert behind.islower()
        assert subject == f"{who}a"
        assert verb.endswith("ek"), "the verb last"


def test_the_verb_of_two_and_the_plural_have_endings_of_their_own() -> None:
    numbers = set(COMMON.numbers[1:])
    for source, target in PAIRS:
        of_two = re.match(r"In \w+ (\w+) and (\w+) ", source)
        assert bool(of_two) == target.endswith("ekan.")
        if of_two:
            assert f"{of_two[1]}a {of_two[2]}a" in target
        assert ("unem" in target) == bool(numbers & set(source.split()))


def test_every_word_has_one_translation_and_no_two_the_same() -> None:
    """Verbs of plain deeds, which stand at the same place in both languages."""
    found: dict[str, set[str]] = {}
    actions = {word for topic in TOPICS.values() for word in topic.actions}
    for document in write_pairs(4000, seed=3):
        source, target = document.text.rstrip(".").split("\n")
        words = source.rstrip(".").split()
        if words[0] in PEOPLE and words[1] in actions:
            found.setdefault(words[1], set()).add(target.rstrip(".").split()[-1])
    assert len(found) > 60
    assert all(len(verbs) == 1 for verbs in found.values())
    assert len({verb for verbs in found.values() for verb in verbs}) == len(found)


def test_names_stay() -> None:
    names = {*PEOPLE, *TOWNS}
    for source, target in PAIRS:
        for name in names & set(re.findall(r"(?<!^)\b[A-Z]\w+", source)):
            assert name in target
