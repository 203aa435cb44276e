"""Events of locks."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ._lease import Event


class Watch:
    """The events of the locks that a pattern selects: an asynchronous iterator.

    It begins with its first step, or when it is entered with `async with`, and ends with aclose.
    """

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        """End the watch."""
        raise NotImplementedError
