package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.CacheStats;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The cached leases of a client, which are kept after their release and given to its next call without a message. */
public final class Cache {
    /** How many tokens a lease begins with. */
    private static final long FIRST_BLOCK = 16;
    /** How often leases are looked at within the time after which an unused one is given back. */
    private static final int SWEEPS = 4;
    /** For how long a resource is not cached that others have asked for twice. The time doubles. */
    private static final long MIN_REST = Clock.SECOND;

    private static final long MAX_REST = 60 * Clock.SECOND;

    /** When others asked for a resource that was cached, and until when it is not cached any more. */
    private record Asked(long at, long idle, long until, long pause) {
        long over() {
            return Math.max(at, until) + idle;
        }
    }

    final Handles handles;
    /** How many uses have begun. */
    long uses;

    private final Map<String, CachedLease> leases = new LinkedHashMap<>();
    /** The ordinary requests of this client that are on their way. */
    private final Map<String, Integer> own = new HashMap<>();

    private final Map<String, Asked> asked = new HashMap<>();
    private final Alarm alarm = new Alarm(this::sweep);

    Cache(Handles handles) {
        this.handles = handles;
    }

    boolean has(String name) {
        return leases.containsKey(name);
    }

    /** Returns a use, or a share of a lease of the request's own if that cannot be cached now. */
    CompletableFuture<Share> acquire(String name, Terms terms, long begun, Cancellation cancellation) {
        return given(name, terms, begun, cancellation).thenCompose(turn -> {
            if (turn.use() != null) {
                return CompletableFuture.completedFuture(turn.use());
            }
            if (turn.lease() != null) {
                return open(turn.lease(), terms, begun, cancellation);
            }
            own.merge(name, 1, Integer::sum);
            return new Acquisition(handles, name, terms, begun, 0, cancellation)
                    .run()
                    .whenComplete((handle, error) ->
                            own.computeIfPresent(name, (key, count) -> count > 1 ? count - 1 : null))
                    .thenApply(Share::of);
        });
    }

    /** Returns what there is. */
    public CacheStats stats() {
        int waiting = leases.values().stream().mapToInt(CachedLease::waiting).sum();
        return new CacheStats(leases.size(), uses, waiting);
    }

    /** Notes that a lease was asked for. If others did so twice within its idle time, it is not cached for a time. */
    void asked(CachedLease lease, long waiting) {
        if (waiting > 0 && waiting <= own.getOrDefault(lease.name, 0)) {
            return;
        }
        long now = Clock.now();
        Asked a = asked.get(lease.name);
        if (a == null || now >= Math.max(a.at, a.until) + lease.idle) {
            asked.put(lease.name, new Asked(now, lease.idle, 0, 0));
        } else {
            long pause = Math.min(Math.max(2 * a.pause, MIN_REST), MAX_REST);
            asked.put(lease.name, new Asked(now, a.idle, now + pause, pause));
        }
    }

    /** Forgets a lease that is not to be given any more. */
    void drop(CachedLease lease) {
        leases.remove(lease.name, lease);
    }

    private CompletableFuture<CachedLease.Turn> given(
            String name, Terms terms, long begun, Cancellation cancellation) {
        CachedLease lease = leases.get(name);
        if (lease == null) {
            if (terms.cache() == 0 || rests(name)) {
                return CompletableFuture.completedFuture(CachedLease.Turn.NONE);
            }
            CachedLease made = new CachedLease(this, name, terms);
            leases.put(name, made);
            return CompletableFuture.completedFuture(new CachedLease.Turn(null, made));
        }
        Use use = lease.take(terms);
        if (use != null) {
            return CompletableFuture.completedFuture(new CachedLease.Turn(use, null));
        }
        boolean fits = lease.fits(terms);
        if (fits && lease.isOpenOrAcquired()) {
            return lease.turn(terms, begun, cancellation);
        }
        if (!fits) {
            lease.close();
        }
        if (lease.returned == null) { // it is in line behind those who wait for the end of the use
            return CompletableFuture.completedFuture(CachedLease.Turn.NONE);
        }
        // Else it might find its own lease there.
        boolean bounded = terms.waiting() > 0 && terms.waiting() < Clock.NEVER;
        long until = begun + (bounded ? terms.waiting() : handles.core.timeout);
        CompletableFuture<?> returned = lease.returned;
        CompletableFuture<Void> waits = handles.core.loop.within(returned, until);
        cancellation.step(() -> waits.completeExceptionally(new CancellationException()));
        return waits.thenCompose(v -> returned.isDone()
                ? given(name, terms, begun, cancellation)
                : CompletableFuture.completedFuture(CachedLease.Turn.NONE));
    }

    private CompletableFuture<Share> open(CachedLease lease, Terms terms, long begun, Cancellation cancellation) {
        String advice = "upgrade all nodes, or leave out cache";
        return handles.deployment
                .need("tokens", advice, "acquire", lease.name)
                .thenCompose(v -> handles.deployment.need("notices", advice, "acquire", lease.name))
                .thenCompose(v -> new Acquisition(handles, lease.name, terms, begun, FIRST_BLOCK, cancellation).run())
                .whenComplete((handle, error) -> {
                    if (error != null) {
                        lease.handOver();
                    }
                })
                .thenApply(handle -> {
                    if (handle.tokens == 1) { // the resource has no block left
                        lease.handOver();
                        return Share.of(handle);
                    }
                    long at = Clock.now() + lease.idle / SWEEPS;
                    if (alarm.at > at) {
                        handles.core.loop.alarms.set(alarm, at);
                    }
                    return lease.opened(handle);
                });
    }

    private boolean rests(String name) {
        Asked a = asked.get(name);
        return a != null && Clock.now() < a.until;
    }

    /** Gives leases back that had no use for long, and forgets what was asked for longer ago. */
    private void sweep() {
        long now = Clock.now();
        for (CachedLease lease : List.copyOf(leases.values())) {
            if (lease.isIdle(now)) {
                lease.close();
            }
        }
        asked.values().removeIf(a -> now >= a.over());
        LongStream idle = Stream.concat(
                        leases.values().stream().map(lease -> lease.idle),
                        asked.values().stream().map(Asked::idle))
                .mapToLong(Long::longValue);
        idle.min().ifPresent(least -> handles.core.loop.alarms.set(alarm, now + least / SWEEPS));
    }
}
