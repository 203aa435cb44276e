package io.github.holdfastio.holdfast.internal;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The end of a lease as its holder knows it: pure arithmetic, which receives the time and sends nothing.
 *
 * <p>It is never later than the end at the service, whichever of the attempts to extend the lease have arrived, in
 * whichever order, and in whichever order their answers come. An attempt without a number must arrive within the time
 * that it asks for, or never, and no copy of it after its answer. The holder counts from the moment when a request was
 * sent, the service from a later one, so the lease ends here first.
 */
class Estimate {
    /** The largest number of an attempt. */
    static final long MAX_ORDER = 9_007_199_254_740_991L;

    private static final long MIN_MARGIN = 15 * Clock.MILLISECOND;
    private static final long MAX_MARGIN = Clock.SECOND;
    /** The part of a long TTL by which clocks may differ: twice what NTP corrects at most. */
    private static final long DRIFT = 1000;
    /** The shortest length of a lease that was set by another attempt than the answered one. */
    private static final long MIN_LENGTH = Clock.MILLISECOND;

    /** A request for more time that the service may have granted last, or may grant yet. */
    private static final class Try {
        final long id;
        final long sent;
        final long ttl;
        /** Attempts with the same number ask for the same. 0: it has none. */
        final long order;
        /** Its answer has come, or does not matter any more. It may still cut a longer lease short. */
        boolean settled;
        /** The latest attempt that was sent before its answer came: later ones are decided behind it. 0: no answer. */
        long before;

        Try(long id, long sent, long ttl, long order) {
            this.id = id;
            this.sent = sent;
            this.ttl = ttl;
            this.order = order;
        }

        /** Returns when the lease may be over if the service granted this attempt after what was asked for then. */
        long ends(long then) {
            return Math.max(then, sent) + ttl - margin(ttl);
        }

        /** Returns whether this attempt changes nothing behind the other one, in whose answer the order was. */
        boolean precedes(Try other, long highest) {
            if (order > 0 && order < highest) {
                return true;
            }
            if (order > 0 && order == other.order) {
                return id <= other.id;
            }
            if (id >= other.id) {
                return false;
            }
            return before > 0 && before < other.id || other.sent >= ends(sent);
        }
    }

    /**
     * What a grant says.
     *
     * @param sent when its attempt was sent
     * @param settled the attempts whose answers do not matter any more
     */
    record Grant(long sent, List<Long> settled) {}

    /** The TTL that the next attempt asks for. */
    long asked;
    /** The number that the next attempt has; 0: none. */
    long order;
    /** The TTL that the last answer granted. */
    long agreed;
    /** When the lease must be considered over. Any thread may read it. */
    volatile long until;

    private List<Try> open = new ArrayList<>();

    /** Begins a lease of which so much remained in the answer to a request sent then. */
    Estimate(long sent, long remaining, long ttl) {
        asked = ttl;
        agreed = ttl;
        until = sent + Math.min(remaining, ttl) - margin(ttl); // mutant: JavaLeaseOutlivesItsTTL
    }

    /**
     * Returns how much earlier than the service the holder considers a lease over. That is room for a late timer and for
     * clocks that run at different speeds.
     */
    static long margin(long ttl) {
        return Math.min(Math.max(ttl / 8, MIN_MARGIN), Math.max(MAX_MARGIN, ttl / DRIFT));
    }

    /** Returns when the service considers the lease over, unless an attempt was delayed on its way. */
    long end() {
        long end = until + margin(agreed);
        for (Try t : open) {
            end = Math.max(end, t.sent + t.ttl);
        }
        return end;
    }

    /**
     * Notes that an attempt was sent. Attempts have growing ids. One that asks for less than is left makes the lease
     * shorter at once, because the service may have granted it.
     */
    void sent(long id, long at) {
        Try t = new Try(id, at, asked, order);
        open.add(t);
        until = Math.min(until, t.ends(at));
    }

    /**
     * Notes that the service granted an attempt, when so much remained. The highest is the highest number that it has
     * granted: if it is above that of the attempt, the lease has the length that the one of this number has asked for.
     * Returns null if the attempt is not open.
     */
    @Nullable Grant granted(long id, long remaining, long highest) {
        Try by = open.stream().filter(t -> t.id == id && !t.settled).findFirst().orElse(null);
        if (by == null) {
            return null;
        }
        by.before = open.get(open.size() - 1).id;
        agreed = by.order > 0 && by.order < highest ? Math.max(remaining, MIN_LENGTH) : by.ttl;
        long end = by.sent + Math.min(remaining, agreed) - margin(agreed);
        List<Long> settled = new ArrayList<>();
        List<Try> left = new ArrayList<>();
        for (Try t : open) {
            boolean over = t.precedes(by, highest);
            if (!t.settled && (over || (t.id <= by.id && t.ttl >= by.ttl))) {
                t.settled = true;
                settled.add(t.id);
            }
            if (!over) {
                left.add(t);
                end = Math.min(end, t.ends(by.sent));
            }
        }
        until = end; // at once, because another thread may read it
        open = left;
        return new Grant(by.sent, settled);
    }

    /** Notes that an attempt had no effect. */
    void drop(long id) {
        open.removeIf(t -> t.id == id);
    }

    /** Forgets the open attempts and returns their ids. */
    List<Long> dropAll() {
        List<Long> ids = open.stream().map(t -> t.id).toList();
        open = new ArrayList<>();
        return ids;
    }

    /** Returns whether the answer to an attempt matters that is later than the one of this id; 0: to any. */
    boolean hasOpen(long behind) {
        return open.stream().anyMatch(t -> t.id > behind && !t.settled);
    }

    /** Returns whether the service may yet decide on an attempt that is older than the one of this id. */
    boolean isOpenBefore(long id) {
        return open.stream().anyMatch(t -> t.id < id);
    }
}
