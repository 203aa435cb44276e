"""What guards with a table of marks share."""

from __future__ import annotations

import re

from .._errors import Invalid

# What stands in statements without quotes; PostgreSQL takes at most 63 bytes.
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}")


def check_table(table: str) -> None:
    """Raise Invalid if the table cannot have this name."""
    if not _NAME.fullmatch(table):
        raise Invalid(
            f"table {table!r} must be at most 63 letters, digits and _, not beginning with a digit, with a schema "
            "before a dot if need be"
        )


def upsert(table: str, resource: str, token: str, passed: str) -> str:
    """Return the statement that lets a claim pass and raises its mark, or returns no row; with these placeholders."""
    # A condition that does not hold locks the row too, so that the mark read afterwards is the one that refused.
    return (
        f"INSERT INTO {table} AS mark (resource, token) VALUES ({resource}, {token}) ON CONFLICT (resource) "
        # mutant: PythonEveryTokenPasses
        f"DO UPDATE SET token = excluded.token WHERE mark.token BETWEEN 0 AND {passed} RETURNING token"
    )
