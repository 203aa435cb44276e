"""A guard for the objects of an S3-style store, for boto3.

    documents = holdfast_client.fence.s3.Bucket(boto3.client("s3"), "documents")
    documents.modify(lock, "42.txt", lambda old: (old or b"") + b"shipped")

The mark of an object is in its metadata, as holdfast-fencing-token. A write reads the mark and the ETag, checks the
claim, and puts the object on the condition that it still has that ETag; if another write came first, all of it starts
again. In most stores an ETag is a hash of the bytes alone, so the guard ends each body with a stamp, a line with the
token; the metadata holdfast-stamp has its length. Bucket.delete leaves a tombstone, because a deletion would forget the
mark. All of it is as the guards in Go and TypeScript write it.

The store must refuse a put whose condition does not hold, which Bucket.verify tries. It needs the permissions
s3:GetObject, s3:PutObject and s3:ListBucket, and s3:DeleteObject for Bucket.verify. A write without the guard is not
refused and can remove the mark. Calls block. In asyncio: `await asyncio.to_thread(documents.put, lock, "42.txt", b"")`.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .._errors import Invalid
from ._claim import MAX_TOKEN, Claim, Claims, claim_of, parse_fence
from ._rule import MalformedMark, UnfitStore, UnknownWrite, check

__all__ = ["Bucket", "MAX_BODY"]

MAX_BODY = 64 << 20
"""The most bytes of a guarded object, which is held in memory."""

_RESERVED = "holdfast-"
_TOKEN = "holdfast-fencing-token"  # 15 digits
_STAMP = "holdfast-stamp"  # how many bytes the stamp has
_DELETED = "holdfast-deleted"  # "true" on a tombstone

# How long a contended write waits before it begins again, at most, in seconds: at first, and at last.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1

Change = Callable[[bytes | None], bytes | str]


class Client(Protocol):
    """A client of boto3."""

    def get_object(self, **arguments: Any) -> Any:
        """Read an object."""
        ...

    def put_object(self, **arguments: Any) -> Any:
        """Store an object."""
        ...

    def delete_object(self, **arguments: Any) -> Any:
        """Delete an object."""
        ...


@dataclass(frozen=True, slots=True)
class _State:
    """What a write is conditioned on."""

    etag: str | None = None  # None: there is no object
    token: int = 0
    body: bytes | None = None  # the caller's bytes, if they were read


@dataclass(frozen=True, slots=True)
class _Draft:
    """An object on its way into the bucket."""

    key: str
    attributes: dict[str, Any]
    change: Change
    stamped: bool
    whole: bool = False  # change needs the present body


class Bucket:
    """A bucket with guarded objects. Any thread may use it.

    Args:
        client: a client of boto3 for S3.
        bucket: its name.
        prefix: of the keys of the guard itself. Callers cannot write below it.
        once: accept each token a single time, for a job that must not run twice under one grant.
        plain_bodies: leave the stamp out. It is safe only where every write has an ETag of its own, even one of the
            same bytes.
        timeout: how long a write contends with other writers, in seconds; None: without a bound.

    Raises:
        Invalid: the prefix is empty.
    """

    def __init__(
        self,
        client: Client,
        bucket: str,
        *,
        prefix: str = "holdfast-fence/",
        once: bool = False,
        plain_bodies: bool = False,
        timeout: float | None = None,
    ) -> None:
        if not prefix:
            raise Invalid("the prefix of marks is empty, which would leave no key to callers")
        self._client = client
        self._name = bucket
        self._prefix = prefix
        self._once = once
        self._plain = plain_bodies
        self._timeout = timeout

    def put(self, claim: Claims, key: str, body: bytes | str, **attributes: Any) -> None:
        """Store an object with its mark.

        Args:
            claim: the lock, or its claim.
            key: of the object.
            body: its content; text is written as UTF-8.
            attributes: what put_object takes besides, such as ContentType.

        Raises:
            StaleClaim: the claim was refused. Nothing was written.
            Invalid: an argument breaks a rule. Nothing was written.
            MalformedMark: the mark of the object is not one. Nothing was written.
            TimeoutError: others were faster until the timeout. Nothing was written.
            UnknownWrite: the object may have been written.
            botocore.exceptions.ClientError: the store refused the call. Nothing was written.
        """
        self._admit(key, attributes)
        self._write(claim_of(claim), _Draft(key, attributes, lambda _: body, not self._plain))

    def modify(self, claim: Claims, key: str, change: Change, **attributes: Any) -> None:
        """Store an object as put does; its body is what change makes of the present one, None if there is no object.

        change is called again after a conflict, so no other change is lost. If it fails, nothing is written. The errors
        are those of put.
        """
        self._admit(key, attributes)
        self._write(claim_of(claim), _Draft(key, attributes, change, not self._plain, whole=True))

    def delete(self, claim: Claims, key: str) -> None:
        """Take an object away, also if there is none, and leave a tombstone, which keeps the mark.

        The errors are those of put.
        """
        self._admit(key, {})
        self._write(claim_of(claim), _Draft(key, {"Metadata": {_DELETED: "true"}}, lambda _: b"", not self._plain))

    def get(self, key: str) -> bytes | None:
        """Return the bytes of an object, without its stamp; None if there is none, or a tombstone."""
        return self._read(key, whole=True).body

    def raise_mark(self, claim: Claims) -> None:
        """Raise a mark that stands by itself, for data that is elsewhere. The errors are those of put.

        It has nothing to do with the marks of objects, which only a put can raise.
        """
        shown = claim_of(claim)
        resource = shown.resource.encode()
        key = f"{self._prefix}marks/{hashlib.sha256(resource).hexdigest()}"
        self._write(shown, _Draft(key, {"ContentType": "text/plain; charset=utf-8"}, lambda _: resource, True))

    def verify(self) -> None:
        """Write an object below the prefix, try what a paused holder would do to it, and delete it.

        Call it when a program starts.

        Raises:
            UnfitStore: the store lets that happen.
        """
        draft = _Draft(f"{self._prefix}probe/{secrets.token_urlsafe(16)}", {}, lambda _: b"probe", not self._plain)

        def write(token: int, seen: _State, passes: bool, what: str) -> None:
            took = True
            try:
                self._put(Claim("probe", token), draft, b"probe", seen)
            except Exception as error:
                if not _is_conflict(error):
                    raise
                took = False
            if took != passes:
                raise UnfitStore(f"bucket {self._name}: it {'took' if took else 'refused'} {what}")

        def sees(token: int) -> _State:
            state = self._read(draft.key)
            if state.token != token:
                raise UnfitStore(
                    f"bucket {self._name}: it gives metadata of token {state.token} after one of {token} was written"
                )
            return state

        try:
            write(1, _State(), True, "a first write with If-None-Match: *")
            write(2, _State(), False, "a second write with If-None-Match: *")
            never = _State(etag='"00000000000000000000000000000000"')
            write(3, never, False, "a write with If-Match and an ETag that never was")
            first = sees(1)
            write(4, first, True, "a write with the present ETag")
            write(5, first, False, "a write with the ETag of the write before; leave plain_bodies out, if it is set")
            sees(4)
        finally:
            self._client.delete_object(Bucket=self._name, Key=draft.key)

    def _write(self, claim: Claim, draft: _Draft) -> None:
        """Read the mark, check the claim and put the object, and start again after a conflict."""
        wait = _SHORTEST_PAUSE
        end = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            seen = self._read(draft.key, draft.whole)
            check(claim, seen.token, self._once)
            body = draft.change(seen.body)
            try:
                self._put(claim, draft, body, seen)
            except Invalid:
                raise
            except Exception as error:
                # What botocore has sent again may have been stored the first time, and have been overwritten since.
                if _retries(error) > 0 or _status(error) // 100 != 4:
                    raise UnknownWrite(
                        f"bucket {self._name}: writing {draft.key}: the write may have been made: {error}"
                    ) from error
                if not _is_conflict(error):
                    raise
                if end is not None and time.monotonic() >= end:
                    raise TimeoutError(
                        f"bucket {self._name}: writing {draft.key}: others were faster for {self._timeout:g} s"
                    ) from error
            else:
                return
            time.sleep(random.uniform(0, wait))  # so that contenders do not meet again
            wait = min(2 * wait, _LONGEST_PAUSE)

    def _put(self, claim: Claim, draft: _Draft, body: bytes | str, seen: _State) -> None:
        """Store an object if it is still as it was seen."""
        content = body.encode() if isinstance(body, str) else body
        if len(content) > MAX_BODY:
            raise Invalid(f"the body has more than {MAX_BODY} bytes; guard an object that names it")
        metadata = {**draft.attributes.get("Metadata", {}), _TOKEN: claim.fence}
        if draft.stamped:
            stamp = f"\n{_TOKEN}: {claim.fence}\n".encode()
            content, metadata[_STAMP] = content + stamp, str(len(stamp))
        # mutant: PythonObjectsAreOverwritten
        condition = {"IfNoneMatch": "*"} if seen.etag is None else {"IfMatch": seen.etag}
        arguments = {**draft.attributes, **condition, "Metadata": metadata}
        self._client.put_object(Bucket=self._name, Key=draft.key, Body=content, **arguments)

    def _read(self, key: str, whole: bool = False) -> _State:
        """Return the state of an object, with its body if the whole is asked for.

        Otherwise it asks for the last byte, and not by HEAD, because there are stores that read the metadata of one
        write and then the ETag of the next for a HEAD.
        """
        out = self._get(key, {} if whole else {"Range": "bytes=-1"})
        if out is None:
            return _State()
        with out["Body"] as body:
            content: bytes = body.read(MAX_BODY + 1024)  # with a stamp
            if len(content) == MAX_BODY + 1024:
                raise Invalid(f"the object has more than {MAX_BODY} bytes")
            body.read()  # its end: the length is checked there
        if not out.get("ETag"):
            raise MalformedMark(f"bucket {self._name}, object {key}: the store gives no ETag to be conditioned on")
        metadata: dict[str, str] = out.get("Metadata", {})
        return _State(out["ETag"], self._token(key, metadata), self._content(key, metadata, content) if whole else None)

    def _get(self, key: str, ranged: dict[str, str]) -> Any:
        try:
            return self._client.get_object(Bucket=self._name, Key=key, **ranged)
        except Exception as error:
            if _code(error) == "NoSuchKey":
                return None
            if _code(error) == "InvalidRange" and ranged:  # an empty object, written without the guard
                return self._get(key, {})
            if _code(error) == "NoSuchBucket":
                error.add_note(f"create it first: aws s3 mb s3://{self._name}")
            raise

    def _token(self, key: str, metadata: dict[str, str]) -> int:
        digits = metadata.get(_TOKEN)
        if digits is None:
            return 0
        try:
            token = parse_fence(digits)
        except Invalid:
            token = 0
        if not 1 <= token <= MAX_TOKEN:
            raise MalformedMark(f"bucket {self._name}, object {key}: metadata {_TOKEN}: {digits[:80]!r}")
        return token

    def _content(self, key: str, metadata: dict[str, str], content: bytes) -> bytes | None:
        if _DELETED in metadata:
            return None
        length = metadata.get(_STAMP)
        if length is None:
            return content
        if length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= len(content):
            return content[: len(content) - int(length)]
        raise MalformedMark(
            f"bucket {self._name}, object {key}: a stamp of {length[:80]!r} bytes at the end of {len(content)}"
        )

    def _admit(self, key: str, attributes: dict[str, Any]) -> None:
        if not key or key.startswith(self._prefix):
            raise Invalid(f"key {key!r}: it must not be empty, nor begin with {self._prefix!r}")
        for name in ("Bucket", "Key", "Body", "IfMatch", "IfNoneMatch"):
            if name in attributes:
                raise Invalid(f"{name} is the guard's to set")
        for name in attributes.get("Metadata", {}):
            if name.lower().startswith(_RESERVED):
                raise Invalid(f"metadata {name!r}: names that begin with {_RESERVED} are the guard's")


def _response(error: Exception) -> dict[str, Any]:
    """Return the answer of the store, empty if there is none."""
    return getattr(error, "response", {})


def _code(error: Exception) -> str:
    return _response(error).get("Error", {}).get("Code", "")


def _status(error: Exception) -> int:
    return _response(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)


def _retries(error: Exception) -> int:
    return _response(error).get("ResponseMetadata", {}).get("RetryAttempts", 0)


def _is_conflict(error: Exception) -> bool:
    """Report whether a put was refused because the object has changed, is gone, or is being written."""
    return _status(error) == 412 or _code(error) in ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey")
