package io.github.holdfastio.holdfast.internal;

/** Calls a function of the loop at a moment of the clock. */
final class Alarm {
    Runnable wake;
    long at = Clock.NEVER;
    /** When the earliest entry of it in the heap is looked at. */
    long queued = Clock.NEVER;

    Alarm(Runnable wake) {
        this.wake = wake;
    }
}
