"""What the suite of clients/fence/fencetest, which runs this guard on a real store, does not ask for."""

from __future__ import annotations

import io
from typing import Any

import pytest

import holdfast_client
from holdfast_client import Claim
from holdfast_client.fence import FenceError, MalformedMark, UnfitStore, UnknownWrite
from holdfast_client.fence.s3 import Bucket

CLAIM = Claim("orders.42", 33)


class StoreError(Exception):
    def __init__(self, status: int, code: str = "", retries: int = 0) -> None:
        super().__init__(code)
        metadata = {"HTTPStatusCode": status, "RetryAttempts": retries}
        self.response = {"Error": {"Code": code}, "ResponseMetadata": metadata}


class Store:
    """Answers with one object, if there is one, and with the error of a put."""

    def __init__(self, metadata: dict[str, str] | None = None, put: Exception | None = None) -> None:
        self.metadata = metadata
        self.put = put

    def get_object(self, **_: Any) -> dict[str, Any]:
        if self.metadata is None:
            raise StoreError(404, "NoSuchKey")
        return {"ETag": '"e"', "Metadata": self.metadata, "Body": io.BytesIO(b"x")}

    def put_object(self, **_: Any) -> None:
        if self.put is not None:
            raise self.put

    def delete_object(self, **_: Any) -> None:
        pass


@pytest.mark.parametrize("error", [StoreError(412, retries=1), StoreError(500), ConnectionError()])
def test_a_put_that_was_sent_again_is_unknown(error: Exception) -> None:
    with pytest.raises(UnknownWrite):
        Bucket(Store(put=error), "b").put(CLAIM, "k", "v")


def test_other_refusals_are_the_stores() -> None:
    with pytest.raises(StoreError, match="AccessDenied"):
        Bucket(Store(put=StoreError(403, "AccessDenied")), "b").put(CLAIM, "k", "v")


def test_a_write_that_is_always_overtaken_ends() -> None:
    with pytest.raises(TimeoutError, match="others were faster"):
        Bucket(Store(put=StoreError(412)), "b", timeout=0).put(CLAIM, "k", "v")


def test_a_store_that_ignores_conditions_is_unfit() -> None:
    with pytest.raises(UnfitStore, match="took a second write"):
        Bucket(Store(), "b").verify()


@pytest.mark.parametrize("token", ["33", "900000000000001", "000000000000000"])
def test_a_mark_that_is_none(token: str) -> None:
    guard = Bucket(Store({"holdfast-fencing-token": token}), "b")
    with pytest.raises(MalformedMark):
        guard.get("k")
    with pytest.raises(MalformedMark):
        guard.put(CLAIM, "k", "v")


@pytest.mark.parametrize("length", ["2", "-1", "²"])
def test_a_stamp_that_is_none(length: str) -> None:
    with pytest.raises(FenceError, match="stamp"):
        Bucket(Store({"holdfast-stamp": length}), "b").get("k")


@pytest.mark.parametrize(
    ("key", "attributes"),
    [("", {}), ("holdfast-fence/x", {}), ("k", {"IfMatch": "x"}), ("k", {"Metadata": {"Holdfast-Stamp": "1"}})],
)
def test_arguments_that_are_refused(key: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(holdfast_client.Invalid):
        Bucket(Store(), "b").put(CLAIM, key, "v", **attributes)
    with pytest.raises(holdfast_client.Invalid, match="prefix"):
        Bucket(Store(), "b", prefix="")
