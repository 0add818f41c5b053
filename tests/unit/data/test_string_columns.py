import subprocess
import sys

import pyarrow as pa
import pytest

from stemma.data.string_columns import string_array, string_list_array


@pytest.mark.parametrize("texts", [[], [""], ["a", "", "ñandú", "漢字", "\U0001f600"]])
def test_strings_equal_what_pyarrow_makes(texts: list[str]) -> None:
    array = string_array([text.encode() for text in texts])
    array.validate(full=True)
    assert array.equals(pa.array(texts, type=pa.string()))


@pytest.mark.parametrize("lists", [[], [[]], [["a", ""], [], ["漢", "字", "x"], []], [["", "", "b"]]])
def test_lists_equal_what_pyarrow_makes(lists: list[list[str]]) -> None:
    array = string_list_array(["\n".join(texts).encode() for texts in lists])
    array.validate(full=True)
    assert array.equals(pa.array(lists, type=pa.list_(pa.string())))


def test_pandas_is_not_imported() -> None:
    code = (
        "import sys; from stemma.data.string_columns import *; string_list_array([b'a']);"
        " sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
