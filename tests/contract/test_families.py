"""Every family obeys its record, before its author writes a test."""

from pathlib import Path

import pytest

from stemma.config import Settings, load_params
from stemma.errors import SettingsError
from stemma.families import check_families, families, family_settings, has_encoder, load_family, why_no_transfer

ROOT = Path(__file__).resolve().parents[2]
PARAMS = load_params(ROOT / "params.yaml")


@pytest.mark.parametrize("name", families())
def test_record_says_what_it_is(name: str) -> None:
    family = load_family(name)
    assert family.name == name
    assert issubclass(family.params, Settings)
    assert family.params.model_config.get("extra") == "forbid"
    assert (family.load_encoder is not None) == has_encoder(name)
    assert (family.load_encoder is None) == (family.load_tuned is None)
    assert (family.transfer is None) == (why_no_transfer(name, {}) is not None)


@pytest.mark.parametrize("name", families())
def test_settings_have_no_defaults(name: str) -> None:
    fields = load_family(name).params.model_fields
    assert [key for key, field in fields.items() if not field.is_required()] == [], "a default would not be in dvc.lock"


@pytest.mark.parametrize("name", families())
def test_independence_contract_names_the_family(name: str) -> None:
    assert f"    stemma.families.{name}\n" in (ROOT / ".importlinter").read_text()


@pytest.mark.parametrize("variant", sorted(PARAMS.variants))
def test_default_settings_of_every_variant_are_valid(variant: str) -> None:
    family_settings(PARAMS, variant)


def test_every_family_has_a_variant_in_the_default_run() -> None:
    assert {variant.family for variant in PARAMS.variants.values()} == set(families())


def test_a_pair_that_cannot_be_is_refused_by_name() -> None:
    pair = PARAMS.pairs["bert-out-of-order"].model_copy(update={"variant": "ngram", "family": "ngram"})
    params = PARAMS.model_copy(update={"pairs": {"ngram-out-of-order": pair}})
    message = (
        r"pairs\.ngram-out-of-order: family 'ngram' can't do a span task: .*; remove the pair or use one of bert, "
    )
    with pytest.raises(SettingsError, match=message):
        check_families(params)
