"""Who may read a chunk, as its metadata says."""

from collections.abc import Mapping, Sequence

ROLES = "roles"


def roles_of(metadata: Mapping[str, object]) -> list[str] | None:
    """The roles that may read a chunk: a list, or names with commas between; None where it does not say.

    What is neither names nobody, so that nothing is opened by mistake.

    >>> roles_of({"roles": "partner, staff"}), roles_of({"roles": ["staff"]}), roles_of({}), roles_of({"roles": 1})
    (['partner', 'staff'], ['staff'], None, [])
    """
    if ROLES not in metadata:
        return None
    roles = metadata[ROLES]
    if isinstance(roles, str):
        return [role for part in roles.split(",") if (role := part.strip())]
    return [role for role in roles if isinstance(role, str)] if isinstance(roles, Sequence) else []
