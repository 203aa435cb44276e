package io.github.holdfastio.holdfast;

import java.time.Duration;
import java.time.Instant;

/**
 * A change of a lease, published after it was committed.
 *
 * @param kind what happened
 * @param lease the lease as it stands after the change; for an end, as it ended
 * @param shard the shard of the resource
 * @param position its position in the shard, with index the order of events
 * @param index its place among the events of one position
 * @param at when it was committed, by the clock of the service
 * @param reason of a break and of some ends; may be empty
 * @param heldBack whether the resource is held back from now on
 * @param resting of the end of a lease before its shortest hold is over: for how long nothing is granted yet
 */
public record Event(
        EventKind kind,
        Lease lease,
        long shard,
        long position,
        long index,
        Instant at,
        String reason,
        boolean heldBack,
        Duration resting) {

    /**
     * Returns the resource.
     *
     * @return its name
     */
    public String name() {
        return lease.name();
    }

    /**
     * Returns what is unique to the event in its deployment.
     *
     * @return the id
     */
    public String id() {
        return shard + "." + position + "." + index;
    }
}
