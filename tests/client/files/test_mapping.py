from pathlib import Path

import pytest

from befund_client import FileError, read_mapping


@pytest.mark.parametrize(
    "text",
    [
        '{"E1": ["c1", "c2"]}',
        '{"questions": [], "evidence_mapping": {"E1": ["c1", "c2"]}}',
        '{"dataset": {"questions": [], "evidence_mapping": {"E1": ["c1", "c2"]}}, "retrieval": {}}',
    ],
)
def test_a_mapping_is_read_wherever_it_stands(tmp_path: Path, text: str) -> None:
    (tmp_path / "mapping.json").write_text(text)
    assert read_mapping(tmp_path / "mapping.json").value == {"E1": ["c1", "c2"]}


@pytest.mark.parametrize("text", ['["E1"]', '{"questions": []}', '{"E1": "c1"}', '{"E1": [1]}', '{"": ["c1"]}'])
def test_what_holds_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mapping.json").write_text(text)
    with pytest.raises(FileError, match="evidence mapping"):
        read_mapping(tmp_path / "mapping.json")
