package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.Claimant;
import io.github.holdfastio.holdfast.internal.Calls;
import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Holding;
import io.github.holdfastio.holdfast.internal.Share;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A lock that is held, until it is released or lost. Its client renews it. {@link Client#lock} makes it. Any thread may
 * use it: it belongs to no thread.
 */
public final class Lock implements AutoCloseable, Claimant {
    private final Share share;

    Lock(Share share) {
        this.share = share;
    }

    Share share() {
        return share;
    }

    /**
     * Returns the resource, in Unicode NFC.
     *
     * @return the name
     */
    public String name() {
        return share.name();
    }

    /**
     * Returns in whose name the lock is held.
     *
     * @return the owner
     */
    public String owner() {
        return share.core().owner;
    }

    /**
     * Returns the number of the grant, which identifies the lease.
     *
     * @return the token, above 0
     */
    public long token() {
        return share.token();
    }

    /**
     * Returns what the protected resource compares: 15 digits, whose text order is numeric order.
     *
     * @return the fence
     */
    public String fence() {
        return share.fence();
    }

    /**
     * Returns the numbers of the permits, which no other holder has meanwhile.
     *
     * @return the numbers; empty if the lock is exclusive
     */
    public List<Integer> slots() {
        return share.slots();
    }

    /**
     * Returns what is shown to the protected resource.
     *
     * @return the claim
     * @throws InvalidException if the lock has slots: choose one
     */
    @Override
    public Claim claim() {
        Checks.require(slots().isEmpty(), "the lock has the slots " + slots() + "; choose one of them");
        return Claim.of(name(), fence());
    }

    /**
     * Returns what is shown to the part of the protected resource that belongs to a slot.
     *
     * @param slot one of {@link #slots}
     * @return the claim
     * @throws InvalidException if the lock does not have the slot
     */
    public Claim claim(int slot) {
        Checks.require(slots().contains(slot), "slot must be one of " + slots() + ", is " + slot);
        return new Claim(name() + "#" + slot, token());
    }

    /**
     * Returns what the service shows of the lease.
     *
     * @return the metadata, which cannot be modified
     */
    public Map<String, String> metadata() {
        return share.metadata();
    }

    /**
     * Returns whether the lock is held at this moment, by the clock. It may be outdated as soon as it is returned.
     *
     * @return whether it is held
     */
    public boolean isHeld() {
        return share.held();
    }

    /**
     * Returns for how long the lock is held at least if it is not renewed any more.
     *
     * @return the time; zero if it is not held
     */
    public Duration remaining() {
        return Holding.remaining(share);
    }

    /**
     * Returns why the lock was lost.
     *
     * @return the reason; null if it was not lost
     */
    public @Nullable LossReason reason() {
        return Holding.reason(share);
    }

    /**
     * Does nothing if the lock is held at this moment.
     *
     * @throws LostException if it is lost
     * @throws ReleasedException if it was released
     */
    public void check() {
        Holding.check(share);
    }

    /**
     * Has a function called when the lock is lost, and not when it is released. If it is lost already, it is called soon.
     * The executor of the client runs it.
     *
     * @param action the function
     */
    public void onLost(Consumer<? super LostException> action) {
        share.core().loop.execute(() -> share.onLost(action));
    }

    /**
     * Waits until others want the resource: a request waits for it, or was refused because of it. A lock that is not
     * renewed never learns of it.
     *
     * @param timeout how long to wait; zero: it looks only
     * @return whether they do; false: the time is over
     * @throws LostException if the lock is lost
     * @throws ReleasedException if it was released
     * @throws InterruptedException if the thread was interrupted
     */
    public boolean awaitWanted(Duration timeout) throws InterruptedException {
        long until = Clock.now() + Checks.duration("timeout", timeout, 0, Clock.NEVER);
        return Calls.await(share.core(), c -> share.wanted(until, c));
    }

    /**
     * Returns a future that ends when others want the resource. Otherwise it is as {@link #awaitWanted}.
     *
     * @return a future; to cancel it ends the wait
     */
    public CompletableFuture<Void> wantedAsync() {
        return Calls.start(share.core(), c -> share.wanted(Clock.NEVER, c).thenAccept(known -> {}), v -> {});
    }

    /**
     * Has the lease last for a time from now, longer or shorter than what was left. Renewals ask for it from then on.
     *
     * @param ttl 0.1 s to 24 h
     * @throws LostException if the lock is lost
     * @throws ReleasedException if it was released
     * @throws InvalidException if the TTL is not allowed, or the lease is cached
     * @throws UnknownOutcomeException if there was no answer in time; the shorter of the two TTLs counts
     * @throws InterruptedException if the thread was interrupted; as for an unknown outcome
     */
    public void extend(Duration ttl) throws InterruptedException {
        long checked = Checks.ttl(ttl);
        Calls.await(share.core(), c -> share.extend(checked, c));
    }

    /**
     * Does what {@link #extend} does.
     *
     * @param ttl 0.1 s to 24 h
     * @return a future, which has the errors of extend
     */
    public CompletableFuture<Void> extendAsync(Duration ttl) {
        long checked = Checks.ttl(ttl);
        return Calls.start(share.core(), c -> share.extend(checked, c), v -> {});
    }

    /**
     * Replaces the metadata of the lease. Everything else stays as it is.
     *
     * @param metadata the metadata, which are copied
     * @throws LostException if the lock is lost
     * @throws ReleasedException if it was released
     * @throws InvalidException if the metadata break a rule, the lease is cached, or the deployment lacks the feature
     *     "values"
     * @throws OverloadedException if the leases of the resource would become too large
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time
     * @throws InterruptedException if the thread was interrupted; the outcome is not known then
     */
    public void setMetadata(Map<String, String> metadata) throws InterruptedException {
        Map<String, String> copy = Map.copyOf(metadata);
        Calls.await(share.core(), c -> share.set(copy, c));
    }

    /**
     * Does what {@link #setMetadata} does.
     *
     * @param metadata the metadata, which are copied
     * @return a future, which has the errors of setMetadata
     */
    public CompletableFuture<Void> setMetadataAsync(Map<String, String> metadata) {
        Map<String, String> copy = Map.copyOf(metadata);
        return Calls.start(share.core(), c -> share.set(copy, c), v -> {});
    }

    /**
     * Gives the lock back, and waits for the answer. It is not held any more when the call begins. Later calls have the
     * outcome of the first. If it is interrupted, or not answered in time, the client goes on until the lease has run out.
     *
     * @throws LostException if it was not held to the end, so another holder may have had it meanwhile
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time, or one was lost and another holder has come since
     * @throws InterruptedException if the thread was interrupted
     */
    public void release() throws InterruptedException {
        share.leave();
        Calls.await(share.core(), c -> share.release());
    }

    /**
     * Does what {@link #release} does.
     *
     * @return a future, which has the errors of release
     */
    public CompletableFuture<Void> releaseAsync() {
        share.leave();
        return Calls.start(share.core(), c -> share.release(), v -> {});
    }

    /**
     * Gives the lock back at the end of a block. That no answer comes in time is no error of the block. If the thread is
     * interrupted, it does not wait for the answer, and stays interrupted.
     *
     * @throws LostException if the lock was not held to the end, so another holder may have had it meanwhile
     */
    @Override
    public void close() {
        Holding.close(share);
    }

    @Override
    public String toString() {
        return "Lock " + name() + " with token " + token();
    }
}
