package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.ReleasedException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What a lock has of a lease. Reentrant locks of one client share one, which ends with the last of them. */
public class Share extends Holding {
    /** What identifies a lease; a downgrade changes it. */
    public record Grant(long token, String fence, List<Integer> slots) {}

    final Handle handle;
    /** Whether others want the resource, as soon as they do, or the lease has ended. */
    private final CompletableFuture<Boolean> wanted = new CompletableFuture<>();
    /** Is called when renewals begin to fail, with the error, and when they succeed again. */
    private volatile @Nullable Consumer<@Nullable HoldfastException> onJeopardy;
    /** The application has begun to release it. */
    private volatile boolean leaving;

    volatile boolean over;
    /** It was the last share, so its release is that of the lease. */
    private boolean last;

    Share(Handle handle) {
        super(handle.core);
        this.handle = handle;
    }

    /** Returns a further share of a lease that is held. */
    static Share of(Handle handle) {
        Share share = new Share(handle);
        handle.join(share);
        return share;
    }

    @Override
    public String name() {
        return handle.name;
    }

    public Grant grant() {
        return handle.grant;
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

    /** Notes that the lease is lost, or the client is closed. */
    void interrupt() {
        stop();
        interrupt(handle.found);
    }

    /** Reports to the application that renewals have begun to fail; null: that they succeed again. */
    void fails(@Nullable HoldfastException error) {
        Consumer<@Nullable HoldfastException> action = onJeopardy;
        if (action != null) {
            core.call(() -> action.accept(error));
        }
    }

    /** Notes that others want the resource. */
    void want() {
        wanted.complete(true);
    }

    /** Has nobody wait any more to learn that others want the resource, because the lease has ended. */
    void stop() {
        wanted.complete(false);
    }

    /** Returns whether others want the resource as soon as they do, or at a moment. */
    public CompletableFuture<Boolean> wanted(long until, Cancellation cancellation) {
        check("wanted");
        listen();
        CompletableFuture<Void> waits = core.loop.within(wanted, until);
        cancellation.step(() -> waits.completeExceptionally(new CancellationException()));
        return waits.thenApply(v -> {
            boolean known = wanted.getNow(false);
            if (!known) {
                check("wanted");
            }
            return known;
        });
    }

    /** Learns from now on that others want the resource. */
    void listen() {
        handle.extensions.listen();
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
