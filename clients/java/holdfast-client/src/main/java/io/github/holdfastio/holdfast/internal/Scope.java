package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.ClosedException;
import io.github.holdfastio.holdfast.HoldfastException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * Work under what is held, in the thread of the caller, which is interrupted when it is lost or the client is closed. An
 * interruption from elsewhere stays one.
 */
public final class Scope {
    private final Thread thread = Thread.currentThread();
    private boolean over;
    private boolean interrupted;

    private Scope() {}

    /** Does the work, and releases what is held. An error of the work is thrown as it is, whatever becomes of that. */
    public static <T extends @Nullable Object> T run(Holding held, Callable<T> work) throws Exception {
        Scope scope = new Scope();
        held.core.loop.execute(() -> held.whenLost(scope::interrupt));
        T result;
        try {
            result = work.call();
        } catch (Exception | Error e) {
            boolean ours = scope.end() && e instanceof InterruptedException;
            HoldfastException lost = held.released();
            if (ours) {
                throw lost != null ? lost : new ClosedException("the client is closed", "acquire", held.name(), null);
            }
            if (lost != null) {
                e.addSuppressed(lost);
            }
            throw e;
        }
        scope.end();
        HoldfastException lost = held.released();
        if (lost != null) {
            throw lost;
        }
        return result;
    }

    private synchronized void interrupt() {
        if (!over) {
            interrupted = true;
            thread.interrupt();
        }
    }

    /** Interrupts no more. Returns whether it has; then the thread is not interrupted any more. */
    private synchronized boolean end() {
        over = true;
        if (interrupted) {
            Thread.interrupted();
        }
        return interrupted;
    }
}
