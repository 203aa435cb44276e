package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.internal.Key;
import io.github.holdfastio.holdfast.internal.Shares;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * Several locks that are held as a whole, made by {@link Client#lockAll}. After the loss of one the others are kept until
 * they are released, and at most for what is left of the shortest lease, so that no other holder gets one while the work
 * stops.
 */
public final class Locks extends Held {
    private final List<Lock> all;

    Locks(Shares shares, List<Lock> all) {
        super(shares);
        this.all = all;
    }

    /**
     * Returns the locks, in the order of their keys. They are released with the set.
     *
     * @return the locks
     */
    public List<Lock> all() {
        return all;
    }

    /**
     * Returns the lock of a resource.
     *
     * @param name the resource
     * @return the lock
     * @throws NoSuchElementException if the set has no such lock
     */
    public Lock lock(String name) {
        String normal = Key.normalize(name);
        return all.stream().filter(lock -> lock.name().equals(normal)).findFirst().orElseThrow();
    }

    /**
     * Returns what is shown to the protected resources.
     *
     * @return the claims of all locks, in the order of their keys
     * @throws InvalidException if one of them has slots
     */
    public List<Claim> claims() {
        return all.stream().map(Lock::claim).toList();
    }

    @Override
    public String toString() {
        return "Locks " + all;
    }
}
