package io.github.holdfastio.holdfast;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who leads an election. Without a token nobody does.
 *
 * @param name the election
 * @param owner the name of the client that leads; empty: none does
 * @param value what it has published
 * @param token that of its leadership, higher than that of each earlier one; 0: nobody leads
 * @param metadata all that the leader shows, its value included
 */
public record Leader(String name, String owner, String value, long token, Map<String, String> metadata) {
    /** Returns the leader that holds a lease. A shared lease is of no election. */
    static Leader of(String name, @Nullable Lease lease) {
        if (lease == null || lease.limit() > 0) {
            return new Leader(name, "", "", 0, Map.of());
        }
        String value = lease.metadata().getOrDefault(Leadership.VALUE, "");
        return new Leader(name, lease.owner(), value, lease.token(), lease.metadata());
    }

    /**
     * Returns whether somebody leads.
     *
     * @return whether the token is above 0
     */
    public boolean leads() {
        return token > 0;
    }
}
