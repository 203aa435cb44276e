package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.fence.Fence;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** One use of a cached lease, under a token of its own. Uses follow one another. */
final class Use extends Share {
    private final CachedLease lease;
    private final Grant grant;

    Use(CachedLease lease, Handle handle, long token) {
        super(handle);
        this.lease = lease;
        grant = new Grant(token, Fence.format(token), List.of());
    }

    @Override
    public Grant grant() {
        return grant;
    }

    @Override
    void listen() {
        // The lease listens already.
    }

    /** Refuses another TTL, which would be that of all uses of the lease. */
    @Override
    public CompletableFuture<Void> extend(long ttl, Cancellation cancellation) {
        throw refused("extend", "ttl");
    }

    /** Refuses other metadata, which would be those of all uses of the lease. */
    @Override
    public CompletableFuture<Void> set(Map<String, String> metadata, Cancellation cancellation) {
        throw refused("set", "metadata");
    }

    /** Ends the use, and waits for nothing. */
    void end() {
        over = true;
        stop();
        handle.leave(this);
        lease.end(this);
    }

    /** Ends the use. If the lease is lost, or given back with it, it has the outcome of that. */
    @Override
    public CompletableFuture<Void> release() {
        if (!over) {
            handle.look();
            if (found == null) {
                end();
            } else {
                handle.leave(this);
            }
        }
        boolean waits = found != null || lease.last == this;
        return waits ? handle.release() : CompletableFuture.completedFuture(null);
    }

    private InvalidException refused(String operation, String what) {
        check(operation);
        String cause = "the " + what + " of a cached lease cannot be changed, it has other uses; give cache zero to lock";
        return new InvalidException(cause, operation, name(), null);
    }
}
