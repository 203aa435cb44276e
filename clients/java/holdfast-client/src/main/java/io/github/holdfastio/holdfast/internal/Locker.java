package io.github.holdfastio.holdfast.internal;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;

/** Acquires locks for the calls of an application. */
public final class Locker {
    public final Handles handles;
    public final Cache cache;

    public Locker(Handles handles) {
        this.handles = handles;
        cache = new Cache(handles);
    }

    /** Returns a share of a lease for a caller who waits since begun. */
    public CompletableFuture<Share> share(String name, Terms terms, long begun, Cancellation cancellation) {
        handles.core.check("acquire", name);
        String normal = Key.normalize(name);
        CompletableFuture<Share> given = terms.cache() > 0 || cache.has(normal)
                ? cache.acquire(normal, terms, begun, cancellation)
                : new Acquisition(handles, name, terms, begun, 0, cancellation).run().thenApply(Share::of);
        return terms.reentrant() ? given.thenCompose(share -> lengthened(share, terms, cancellation)) : given;
    }

    /** Returns shares of several leases, all of them or none. */
    public CompletableFuture<Shares> all(Collection<String> names, Terms terms, Cancellation cancellation) {
        handles.core.check("acquire", "");
        return new AcquisitionOfAll(this, AcquisitionOfAll.inOrder(names), terms, cancellation)
                .run()
                .thenApply(shares -> new Shares(handles.core, shares));
    }

    /** A lease that the client had already may have a shorter TTL than this lock asks for. */
    private CompletableFuture<Share> lengthened(Share share, Terms terms, Cancellation cancellation) {
        if (share.handle.extensions.ttl >= terms.ttl()) {
            return CompletableFuture.completedFuture(share);
        }
        return share.extend(terms.ttl(), cancellation).thenApply(v -> share).whenComplete((s, error) -> {
            if (error != null) {
                handles.core.background(c -> share.release());
            }
        });
    }
}
