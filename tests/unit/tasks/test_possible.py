"""Every variant and every task or probe: possible, or the reason."""

from typing import get_args

import pytest

from stemma.families import families, load_family
from stemma.protocols import HeadKind
from stemma.tasks.possible import impossible
from stemma.tasks.probes import PROBE_SCHEMAS


@pytest.mark.parametrize("name", families())
def test_what_a_family_can_do_is_what_its_record_has(name: str) -> None:
    family = load_family(name)
    able = {kind for kind in (*get_args(HeadKind), *PROBE_SCHEMAS) if impossible(name, kind) is None}
    assert (family.load_scorer is not None) == ("minimal-pairs" in able)
    assert (family.load_vectors is not None) == ("similarity" in able) == ("analogy" in able)
    assert (family.load_encoder is not None) == bool(able & set(get_args(HeadKind)))


def test_each_reason_is_said() -> None:
    assert impossible("word2vec", "minimal-pairs") == "it gives no sentence a probability"
    assert impossible("bert", "analogy") == "it has no vectors of words by themselves"
    assert "not where in a text" in str(impossible("ngram", "span"))
