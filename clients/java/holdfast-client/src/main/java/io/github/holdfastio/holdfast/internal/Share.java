package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.ReleasedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a lock has of a lease. Reentrant locks of one client share one, which ends with the last of them. Any thread may
 * call what returns no future and changes nothing.
 */
public class Share implements Held {
    final Handle handle;
    /** Why the lock is lost; null: it is not. */
    volatile @Nullable LostException found;
    /** Is called when renewals begin to fail, with the error, and when they succeed again. */
    private volatile @Nullable Consumer<@Nullable HoldfastException> onJeopardy;

    final Wanted wanted = new Wanted();
    /** The application has begun to release it. */
    private volatile boolean leaving;

    volatile boolean over;
    /** It was the last share, so its release is that of the lease. */
    private boolean last;

    private final List<Runnable> listeners = new ArrayList<>();
    private final List<Consumer<? super LostException>> lossListeners = new ArrayList<>();

    Share(Handle handle) {
        this.handle = handle;
    }

    /** Returns a further share of a lease that is held. */
    static Share of(Handle handle) {
        Share share = new Share(handle);
        handle.join(share);
        return share;
    }

    @Override
    public Core core() {
        return handle.core;
    }

    @Override
    public String name() {
        return handle.name;
    }

    public long token() {
        return handle.token();
    }

    public String fence() {
        return handle.grant().fence();
    }

    public List<Integer> slots() {
        return handle.grant().slots();
    }

    public Map<String, String> metadata() {
        return handle.metadata;
    }

    @Override
    public boolean held() {
        return !leaving && !over && handle.held();
    }

    @Override
    public boolean active() {
        return !leaving && !over && handle.active();
    }

    @Override
    public long until() {
        return handle.until();
    }

    @Override
    public @Nullable LostException found() {
        LostException own = found;
        return own != null || over || leaving ? own : handle.found;
    }

    public void onJeopardy(Consumer<@Nullable HoldfastException> action) {
        onJeopardy = action;
    }

    @Override
    public void leave() {
        leaving = true;
    }

    @Override
    public void onLost(Consumer<? super LostException> action) {
        if (found != null) {
            report(action, found);
        } else {
            lossListeners.add(action);
        }
    }

    @Override
    public void whenLost(Runnable listener) {
        listeners.add(listener);
        if (found != null) {
            core().loop.execute(listener);
        }
    }

    /** Has the listeners called, because the lease is lost or the client is closed. */
    void interrupt() {
        LostException lost = handle.found;
        found = lost;
        wanted.end();
        if (lost != null) {
            lossListeners.forEach(action -> report(action, lost));
            lossListeners.clear();
        }
        listeners.forEach(core().loop::execute);
        listeners.clear();
    }

    private void report(Consumer<? super LostException> action, LostException lost) {
        core().call(() -> action.accept(lost));
    }

    /** Reports to the application that renewals have begun to fail; null: that they succeed again. */
    void fails(@Nullable HoldfastException error) {
        Consumer<@Nullable HoldfastException> action = onJeopardy;
        if (action != null) {
            core().call(() -> action.accept(error));
        }
    }

    /** Notes that others want the resource. */
    void want() {
        wanted.note();
    }

    /** Has nobody wait any more to learn that others want the resource, because the lease has ended. */
    void stop() {
        wanted.end();
    }

    /** Returns whether others want the resource as soon as they do, or at a moment. */
    public CompletableFuture<Boolean> wanted(long until, Cancellation cancellation) {
        check("wanted");
        listen();
        return wanted.await(core().loop, until, cancellation).thenApply(known -> {
            if (!known) {
                check("wanted");
            }
            return known;
        });
    }

    /** Learns from now on that others want the resource. */
    void listen() {
        handle.listen();
    }

    /** Throws LostException, ReleasedException or ClosedException unless the lock is held. */
    void check(String operation) {
        if (over) {
            throw new ReleasedException("the lock was released", operation, name(), null);
        }
        handle.check(operation);
    }

    /** Requests a new TTL of the lease and waits for the answer. */
    @Override
    public CompletableFuture<Void> extend(long ttl, Cancellation cancellation) {
        check("extend");
        return handle.extend(ttl, cancellation);
    }

    /** Replaces the metadata of the lease and waits for the answer. */
    public CompletableFuture<Void> set(Map<String, String> metadata, Cancellation cancellation) {
        check("set");
        return handle.set(metadata, cancellation);
    }

    /** Ends the share; the last one gives the lease back, and waits for the answer. Later calls have this outcome. */
    @Override
    public CompletableFuture<Void> release() {
        if (!over) {
            handle.look();
            if (found == null) {
                over = true;
                stop();
            }
            last = handle.leave(this);
        }
        return last || found != null ? handle.release() : CompletableFuture.completedFuture(null);
    }
}
