package io.github.holdfastio.holdfast;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the service knows of a resource.
 *
 * @param name the resource
 * @param holders the leases that are held, the oldest first, at most 100
 * @param permits the permits that are held; 1 for an exclusive lock
 * @param waiting how many requests wait
 * @param lastToken the last token that was issued, while nobody holds the resource; 0 if none is known
 * @param heldBack the lost lease that holds the resource back; null: none does
 */
public record LockState(
        String name, List<Lease> holders, long permits, long waiting, long lastToken, @Nullable HeldBack heldBack) {

    /**
     * Returns whether the resource has a holder.
     *
     * @return whether it has one
     */
    public boolean held() {
        return !holders.isEmpty();
    }

    /**
     * Returns the first holder.
     *
     * @return the holder; null if there is none
     */
    public @Nullable Lease holder() {
        return holders.isEmpty() ? null : holders.get(0);
    }
}
