package io.github.holdfastio.holdfast;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One lease of a resource, as of the answer or event that shows it.
 *
 * @param name the resource
 * @param owner who holds it
 * @param token the number of the grant; it identifies the lease
 * @param fence what the protected resource compares: 15 digits
 * @param ttl its length
 * @param remaining what was left of it
 * @param acquiredAt when it was granted, by the clock of the service; null if that is not shown
 * @param ephemeral whether the lease is only in the memory of a node
 * @param metadata what its holder says of it
 * @param limit the permits that may be held while it is held; 0: it is exclusive
 * @param slots the numbers of its permits; empty if it is exclusive
 * @param session the label of its session; empty: it has none
 */
public record Lease(
        String name,
        String owner,
        long token,
        String fence,
        Duration ttl,
        Duration remaining,
        @Nullable Instant acquiredAt,
        boolean ephemeral,
        Map<String, String> metadata,
        long limit,
        List<Integer> slots,
        String session) {}
