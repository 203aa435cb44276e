package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HeldException;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.LockTimeoutException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A lease that is given to one use after another. It is acquired, open, closing and given back, in this order. */
final class CachedLease {
    /** A lease gets as many tokens again ahead of their end, but no more than MAX_GROWTH at a time. */
    private static final long MAX_GROWTH = 1_000_000;

    private static final long MAX_BLOCK = 4_000_000_000L;
    /** A use begins only if this part of the TTL is left. */
    private static final int LEAST_PART = 4;

    /** What a call gets: a use, the lease that it is to acquire, or nothing, so that it sends a request of its own. */
    record Turn(@Nullable Use use, @Nullable CachedLease lease) {
        static final Turn NONE = new Turn(null, null);
    }

    final String name;
    /** After how long without a use it is given back. */
    final long idle;
    /** The use after which the lease was given back. */
    @Nullable Use last;
    /** The outcome of its release, from when that is sent. */
    @Nullable CompletableFuture<@Nullable HoldfastException> returned;

    private final Cache cache;
    private final Core core;
    private final Terms terms;
    /** The lease; null: it is being acquired. */
    private @Nullable Handle handle;
    /** Uses may begin. */
    private boolean open;
    /** The use that has begun, and not ended. */
    private @Nullable Use use;
    /** Since when it has no use. */
    private long rested;

    private final ArrayDeque<CompletableFuture<Turn>> turns = new ArrayDeque<>();
    /** The next token, the first one behind the block, and the one at which the block is to grow. */
    private long next;

    private long end;
    private long growAt = Clock.NEVER;

    CachedLease(Cache cache, String name, Terms terms) {
        this.cache = cache;
        this.name = name;
        this.terms = terms;
        core = cache.handles.core;
        idle = terms.cache();
    }

    /** Returns how many requests wait for it. */
    int waiting() {
        return turns.size();
    }

    boolean isOpenOrAcquired() {
        return open || handle == null;
    }

    /** Returns whether it has had no use for long. */
    boolean isIdle(long now) {
        return use == null && now >= rested + idle;
    }

    /** Returns whether the lease is what a request asks for. */
    boolean fits(Terms other) {
        return other.ttl() == terms.ttl()
                && other.ephemeral() == terms.ephemeral()
                && other.metadata().equals(terms.metadata())
                && other.delay() == terms.delay()
                && other.confirmLoss() == terms.confirmLoss()
                && other.cache() > 0;
    }

    /** Returns a use for a request; null if it has to wait, or needs another lease. */
    @Nullable Use take(Terms other) {
        Handle ready = fits(other) ? ready() : null;
        return ready == null ? null : give(ready);
    }

    /** Takes over the lease that a call has acquired, and returns the use of this call. */
    Use opened(Handle acquired) {
        handle = acquired;
        next = acquired.token();
        grown();
        open = true;
        acquired.uses = this;
        Use first = give(acquired);
        if (acquired.waiting > 0) {
            want(acquired.waiting);
        } else {
            acquired.extensions.listen();
        }
        return first;
    }

    /** Waits until it is the turn of a request. */
    CompletableFuture<Turn> turn(Terms other, long begun, Cancellation cancellation) {
        if (use != null) {
            use.want();
        }
        long within = other.waiting();
        if (within == 0) {
            if (use != null || !turns.isEmpty() || handle == null) {
                return Failures.failed(held());
            }
            within = core.timeout; // for the answer that shows more tokens
        }
        CompletableFuture<Turn> turn = new CompletableFuture<>();
        CompletableFuture<Turn> result = new CompletableFuture<>();
        turns.add(turn);
        core.loop.within(turn, begun + within).thenRun(() -> {
            if (turn.isDone()) {
                result.complete(turn.join());
            } else if (!result.isDone()) {
                abandon(turn);
                result.completeExceptionally(new LockTimeoutException(
                        "the wait is over; this client holds it itself", "acquire", name, null));
            }
        });
        cancellation.step(() -> {
            if (result.completeExceptionally(new CancellationException())) {
                abandon(turn);
            }
        });
        return result;
    }

    /** Ends a use. The first that waits has its turn, or the lease is given back if it is closing. */
    void end(Use ended) {
        use = null;
        rested = Clock.now();
        if (!open) {
            last = ended;
            giveBack();
        } else {
            serve();
        }
    }

    /** Has the first that waits acquire the lease, because the call that tried to has failed. */
    void handOver() {
        CompletableFuture<Turn> first = turns.poll();
        if (first == null) {
            cache.drop(this);
        } else {
            first.complete(new Turn(null, this));
        }
    }

    /** Begins no use any more, and gives the lease back when it has none. */
    void close() {
        if (open) {
            shut();
            if (use == null) {
                giveBack();
            }
        }
    }

    /** Gives the lease back to others. So many requests wait for it; 0: it is not known how many. */
    void want(long number) {
        if (open) {
            cache.asked(this, number);
            close();
        }
    }

    /** Takes over the tokens that an answer has shown, or notes that there are no more. */
    void grown() {
        Handle present = handle;
        if (present == null) {
            return;
        }
        long behind = present.token() + present.tokens;
        if (!present.grant.slots().isEmpty() || (next == behind && !present.extensions.grows())) {
            close(); // with slots another client has downgraded it
        } else if (behind > end) {
            end = behind;
            growAt = behind - Math.min(present.tokens, MAX_GROWTH) / 2;
            serve();
        }
    }

    /** Notes that the lease is lost, or that the client is closed and releases it. */
    void interrupt() {
        shut();
        if (handle != null && handle.found != null) {
            if (use == null) {
                giveBack();
            }
            cache.drop(this);
        }
    }

    /** Returns the lease, if a use may begin now. */
    private @Nullable Handle ready() {
        Handle present = handle;
        if (present == null || use != null || !open) {
            return null;
        }
        long left = present.active() ? present.until() - Clock.now() : 0;
        if (left < terms.ttl() / LEAST_PART) {
            close();
            return null;
        }
        return next < end ? present : null;
    }

    /**
     * Each token is given once. Ahead of the end of the block it is doubled; at its end the lease is closing, unless an
     * answer may yet show more tokens.
     */
    private Use give(Handle present) {
        Use given = new Use(this, present, next);
        use = given;
        present.join(given);
        cache.uses++;
        next++; // mutant: JavaTokenGivenTwice
        if (next >= growAt) {
            growAt = Clock.NEVER;
            long more = Math.min(Math.min(present.tokens, MAX_GROWTH), MAX_BLOCK - present.tokens);
            if (more > 0) {
                present.extensions.grow(present.tokens + more);
            }
        }
        if (next == end && !present.extensions.grows()) {
            shut();
        }
        return given;
    }

    private void serve() {
        Handle present = turns.isEmpty() ? null : ready();
        CompletableFuture<Turn> first = present == null ? null : turns.poll();
        if (present != null && first != null) {
            first.complete(new Turn(give(present), null));
        }
    }

    /** From now on no use begins. The requests that wait become ordinary ones, in their order. */
    private void shut() {
        open = false; // mutant: JavaClosingLeaseIsUsed
        List<CompletableFuture<Turn>> waiting = List.copyOf(turns);
        turns.clear();
        waiting.forEach(turn -> turn.complete(Turn.NONE));
    }

    private void giveBack() {
        if (handle != null && returned == null) {
            // It is dropped before those who wait for its return look for it.
            returned = handle.giveBack().whenComplete((error, e) -> cache.drop(this));
        }
    }

    /** The call that waited does not any more. What it was given just now is for the next one. */
    private void abandon(CompletableFuture<Turn> turn) {
        if (!turn.isDone()) {
            turns.remove(turn);
            return;
        }
        Turn given = turn.join();
        if (given.use() != null) {
            given.use().end();
        } else if (given.lease() != null) {
            handOver();
        }
    }

    private HeldException held() {
        String text = "the lock is held: this client has it, or waits for it";
        Lease holder = handle == null ? null : handle.shown();
        return new HeldException(text, "acquire", name, holder, null);
    }
}
