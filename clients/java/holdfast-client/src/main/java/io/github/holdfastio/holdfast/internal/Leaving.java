package io.github.holdfastio.holdfast.internal;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Leases whose release is on its way, and those that were released while a reentrant request was. Such a request may be
 * granted one of them, because the service decided on it before the release.
 */
final class Leaving {
    private final Map<Handles.Id, Integer> underWay = new HashMap<>();
    private final List<Set<Handles.Id>> expecting = new ArrayList<>();

    /** Notes that the release of a lease begins. Call over after it. */
    void begin(Handles.Id id) {
        underWay.merge(id, 1, Integer::sum);
        expecting.forEach(ended -> ended.add(id));
    }

    /** Notes that the release of a lease is answered, or given up. */
    void over(Handles.Id id) {
        underWay.computeIfPresent(id, (key, count) -> count > 1 ? count - 1 : null);
    }

    /** Returns whether a release of the lease is on its way. */
    boolean has(Handles.Id id) {
        return underWay.containsKey(id);
    }

    /** Returns the leases that a reentrant request is not to be granted, and notes further ones until forget. */
    Set<Handles.Id> expect() {
        Set<Handles.Id> ended = new HashSet<>(underWay.keySet());
        expecting.add(ended);
        return ended;
    }

    /** Notes no more leases there. */
    void forget(Set<Handles.Id> ended) {
        expecting.removeIf(other -> other == ended);
    }
}
