import subprocess
import sys

import pytest

from stemma.data.bundled import bundled_path
from stemma.errors import InputError


def test_the_sample_is_found_without_importing_its_package() -> None:
    code = (
        "import sys; from stemma.data.bundled import bundled_path; assert bundled_path('wikipedia-sample').is_file();"
        " sys.exit('gensim' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_package_or_file_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from stemma.data import bundled

    monkeypatch.setattr(bundled, "_FILES", {"wikipedia-sample": ("no_such_package", "x")})
    with pytest.raises(InputError, match="package no_such_package is not installed"):
        bundled_path("wikipedia-sample")
    monkeypatch.setattr(bundled, "_FILES", {"wikipedia-sample": ("numpy", "x")})
    with pytest.raises(InputError, match="no such file; this build of numpy does not carry the sample"):
        bundled_path("wikipedia-sample")
