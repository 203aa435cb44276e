package io.github.holdfastio.holdfast.internal;

/** Calls a function of the loop at a moment of the clock. */
final class Alarm {
    Runnable wake;
    /** NEVER: it is not set. */
    long at = Clock.NEVER;
    /** Of alarms that are set to the same moment the lowest number is the first. */
    long number;

    Alarm(Runnable wake) {
        this.wake = wake;
    }
}
