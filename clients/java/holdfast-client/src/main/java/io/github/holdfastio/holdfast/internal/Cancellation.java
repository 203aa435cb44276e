package io.github.holdfastio.holdfast.internal;

/** Whether a call is not waited for any more, and what is to be done then. A call has one step at a time. */
public final class Cancellation {
    private boolean cancelled;
    private Runnable step = () -> {};

    /** Ends the present step, and those that follow. */
    public void cancel() {
        if (!cancelled) {
            cancelled = true;
            step.run();
        }
    }

    boolean cancelled() {
        return cancelled;
    }

    /** Begins a step, with what ends it. */
    void step(Runnable end) {
        step = end;
        if (cancelled) {
            end.run();
        }
    }
}
