package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.Claimant;
import io.github.holdfastio.holdfast.internal.Calls;
import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Share;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A lock that is held, made by {@link Client#lock}. */
public final class Lock extends Held implements Claimant {
    private final Share share;

    Lock(Share share) {
        super(share);
        this.share = share;
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
        return share.core.owner;
    }

    /**
     * Returns the number of the grant, which identifies the lease.
     *
     * @return the token, above 0
     */
    public long token() {
        return share.grant().token();
    }

    /**
     * Returns what the protected resource compares: 15 digits, whose text order is numeric order.
     *
     * @return the fence
     */
    public String fence() {
        return share.grant().fence();
    }

    /**
     * Returns the numbers of the permits, which no other holder has meanwhile.
     *
     * @return the numbers; empty if the lock is exclusive
     */
    public List<Integer> slots() {
        return share.grant().slots();
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
        return Calls.await(share.core, c -> share.wanted(until, c));
    }

    /**
     * Returns a future that ends when others want the resource. Otherwise it is as {@link #awaitWanted}.
     *
     * @return a future; to cancel it ends the wait
     */
    public CompletableFuture<Void> wantedAsync() {
        return Calls.start(share.core, c -> share.wanted(Clock.NEVER, c).thenAccept(known -> {}), v -> {});
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
        Calls.await(share.core, c -> share.set(copy, c));
    }

    /**
     * Does what {@link #setMetadata} does.
     *
     * @param metadata the metadata, which are copied
     * @return a future, which has the errors of setMetadata
     */
    public CompletableFuture<Void> setMetadataAsync(Map<String, String> metadata) {
        Map<String, String> copy = Map.copyOf(metadata);
        return Calls.start(share.core, c -> share.set(copy, c), v -> {});
    }

    @Override
    public String toString() {
        return "Lock " + name() + " with token " + token();
    }
}
