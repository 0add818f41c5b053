"""Great Expectations as the judge: which rows fail, and that what is kept says nothing of the run."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from stemma.adapters.expectations import GreatExpectations
from stemma.data.row_rules import Rule, least_rule, present_rules, unique_rule

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process pays for the import

TABLE = pa.table({"id": ["a", None, "c"], "size": [1, 20, 300], "repeated_id": pa.array([None, None, "x row 0"])})
SIZE = Rule(
    name="length",
    expectation="expect_column_values_to_be_between",
    kwargs={"column": "size", "min_value": 2, "max_value": 30},
    reason="{size}",
)


def test_it_names_the_rows_that_fail_and_counts_them() -> None:
    rules = [SIZE, *present_rules("id"), unique_rule("repeated_id", "id"), least_rule("size", 0, "")]
    size, present, unique, least = GreatExpectations().judge(TABLE, rules)
    assert (size.rule, size.success, list(size.failing)) == (SIZE, False, [0, 2])
    assert size.result == {"element_count": 3, "missing_count": 0, "unexpected_count": 2}
    assert list(present.failing) == [1]
    assert list(unique.failing) == [2]
    assert (least.success, least.result, list(least.failing)) == (True, {"observed_value": 1}, [])


def test_a_rule_that_cannot_be_checked_is_no_success() -> None:
    wrong = Rule(name="x", expectation=SIZE.expectation, kwargs={"column": "none", "min_value": 0}, reason="")
    with pytest.raises(AssertionError, match="expect_column_values_to_be_between"):
        GreatExpectations().judge(TABLE, [wrong])


def test_two_rules_of_one_name_would_hide_one() -> None:
    with pytest.raises(AssertionError, match="two rules of one name"):
        GreatExpectations().judge(TABLE, [SIZE, SIZE])


def test_an_empty_table_passes() -> None:
    (verdict,) = GreatExpectations().judge(TABLE.slice(0, 0), [SIZE])
    assert verdict.success
    assert list(verdict.failing) == []


def test_light_commands_do_not_import_it() -> None:
    code = "import sys, stemma.cli, stemma.stages.validate; sys.exit('great_expectations' in sys.modules)"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
