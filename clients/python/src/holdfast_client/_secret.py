"""What shows that a request about a lease is its owner's."""

from __future__ import annotations

import base64
import hashlib
import secrets

from ._errors import Invalid

SECRET_BYTES = 16
MIN_SECRET_BYTES = 16
MAX_SECRET_BYTES = 64


class Secret:
    """The secret of the leases of a client.

    Attributes:
        text: the secret in base64.
        hash: its SHA-256 in base64.
    """

    __slots__ = ("hash", "text")

    def __init__(self, value: bytes | None) -> None:
        """Take a secret, or draw one that is used nowhere else; Invalid if it is too short or too long."""
        if value is None:
            value = secrets.token_bytes(SECRET_BYTES)
        if not MIN_SECRET_BYTES <= len(value) <= MAX_SECRET_BYTES:
            raise Invalid(f"secret must have {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes, has {len(value)}")
        self.text = base64.b64encode(value).decode()
        self.hash = base64.b64encode(hashlib.sha256(value).digest()).decode()
