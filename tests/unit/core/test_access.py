from typing import Any

import pytest

from befund.core.access import roles_of


@pytest.mark.parametrize(
    ("metadata", "roles"),
    [
        ({}, None),
        ({"role": "staff"}, None),
        ({"roles": "staff"}, ["staff"]),
        ({"roles": " partner , staff,"}, ["partner", "staff"]),
        ({"roles": ""}, []),
        ({"roles": ["partner", "staff"]}, ["partner", "staff"]),
        ({"roles": []}, []),
        ({"roles": ["staff", 3]}, ["staff"]),
        ({"roles": 3}, []),
        ({"roles": True}, []),
        ({"roles": None}, []),
    ],
)
def test_roles_are_read_from_metadata_and_never_widened(metadata: dict[str, Any], roles: list[str] | None) -> None:
    assert roles_of(metadata) == roles
