from pathlib import Path

import pytest

from befund.bundled import FOLDERS, MissingDataError, bundled

ROOT = Path(__file__).parents[2]


def test_a_checkout_uses_its_own_data() -> None:
    assert FOLDERS == (ROOT / "service" / "befund" / "data", ROOT / "data")
    assert bundled("teralune/questions.jsonl") == ROOT / "data"


def test_the_first_folder_that_holds_everything_is_taken(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for file in (first / "a", second / "a", second / "b"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert bundled("a", folders=[first, second]) == first
    assert bundled("a", "b", folders=[first, second]) == second


def test_what_is_nowhere_is_named_with_where_it_was_sought(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"demo/x neither in .*/one nor in .*/two: install Befund anew"):
        bundled("demo/x", folders=[tmp_path / "one", tmp_path / "two"])
