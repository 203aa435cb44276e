"""A process that works under a lock whenever it gets it: python -m tests.idioms.holder HOST URL FOLDER NAME TTL."""

# pyright: basic
# Celery and Django have no types.

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

import holdfast_client
import holdfast_client.sync
from holdfast_client.fence import StaleClaim
from holdfast_client.fence.file import Directory

host, url, folder, name, length = sys.argv[1:]
ttl = float(length)
guard = Directory(folder)
asked = threading.Event()


def work(lock: holdfast_client.sync.Lock) -> None:
    """Work until it is asked to end, or has lost the lock: then print what becomes of a late write."""
    guard.write(lock, name, "in time")
    print(f"has {lock.fence}", flush=True)
    while not asked.is_set() and not lock.lost.wait(0.05):
        pass
    if not lock.lost.is_set():
        print(f"is done with {lock.fence}", flush=True)
        return
    try:
        guard.write(lock, name, "late")
        late = "written"
    except StaleClaim:
        late = "refused"
    print(f"has lost {lock.fence}: {late}", flush=True)


def run_celery() -> None:
    import celery

    from holdfast_client.celery import Locks

    app = celery.Celery("holder", broker="memory://")
    app.conf.worker_redirect_stdouts = False

    @app.task(name="job")
    @Locks(url).once(name, wait=600, ttl=ttl)
    def job(*, lock: holdfast_client.sync.Lock) -> None:
        try:
            work(lock)
        finally:
            job.delay()

    job.delay()
    app.worker_main(
        ["--quiet", "worker", "--pool=threads", "--concurrency=1", "--without-gossip", "--loglevel=CRITICAL"]
    )


def run_django() -> None:
    import django.conf
    from django.core.management import CommandError, call_command
    from django.core.management.base import BaseCommand

    from holdfast_client.django import locked

    django.conf.settings.configure(HOLDFAST={"servers": url})

    class Job(BaseCommand):
        requires_system_checks = ()

        @locked(name, wait=600, ttl=ttl)
        def handle(self, *args: Any, lock: holdfast_client.sync.Lock, **options: Any) -> None:
            work(lock)

    while True:
        try:
            call_command(Job())
        except CommandError:
            pass  # the lock was lost


if __name__ == "__main__":
    signal.signal(signal.SIGUSR2, lambda *_: asked.set())
    {"celery": run_celery, "django": run_django}[host]()
