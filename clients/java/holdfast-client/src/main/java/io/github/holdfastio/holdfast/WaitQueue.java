package io.github.holdfastio.holdfast;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What waits for a resource, as the owner of its shard has it in memory.
 *
 * @param name the resource
 * @param waiting how many requests wait
 * @param oldest how long the first of them has waited at the present owner of the shard
 * @param holder the oldest lease of the resource; null: nobody holds it, as after a loss that holds it back
 */
public record WaitQueue(String name, long waiting, Duration oldest, @Nullable Lease holder) {}
