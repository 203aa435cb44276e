package io.github.holdfastio.holdfast.spring;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.LockOptions;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * A lock registry of Spring Integration, with the locks of a service of Holdfast. Any thread may use it.
 *
 * <p>As Spring Integration has it, a lock belongs to the thread that locked it, which may lock it again, and the other
 * threads of the registry wait in the process. The client renews each lock until it is unlocked, so nobody needs to
 * call {@link #renewLock}. If a lock was lost, its unlock throws {@link java.util.ConcurrentModificationException}:
 * what it protected may have been done by another holder, too.
 */
public final class HoldfastLockRegistry
        implements RenewableLockRegistry<DistributedLock>, ExpirableLockRegistry<DistributedLock> {
    private final Client client;
    private final String prefix;
    private final LockOptions options;
    private final Map<String, RegistryLock> locks = new ConcurrentHashMap<>();

    /**
     * Makes a registry whose locks have the keys as their names, and the TTL of the client.
     *
     * @param client whose locks they are; the caller closes it
     */
    public HoldfastLockRegistry(Client client) {
        this(client, "", LockOptions.defaults());
    }

    /**
     * Makes a registry.
     *
     * @param client whose locks they are; the caller closes it
     * @param prefix what the names of the locks begin with; the key follows
     * @param options of each lock, apart from its wait
     */
    public HoldfastLockRegistry(Client client, String prefix, LockOptions options) {
        this.client = client;
        this.prefix = prefix;
        this.options = options;
    }

    /**
     * Returns the lock of a key, the same one each time until it expires.
     *
     * @param key whose text is the name of the lock, after the prefix
     * @return a lock, which has no conditions; a TTL that a call gives it is the length of its lease, which is renewed
     */
    @Override
    public DistributedLock obtain(Object key) {
        return locks.computeIfAbsent(prefix + key, name -> new RegistryLock(client, name, options));
    }

    /**
     * Renews the lock of a key now, for the TTL that it has.
     *
     * @param key of a lock that the thread holds
     * @throws IllegalStateException if the thread does not hold it, or it was lost
     */
    @Override
    public void renewLock(Object key) {
        renew(key, null);
    }

    /**
     * Renews the lock of a key now, and for the TTL from then on.
     *
     * @param key of a lock that the thread holds
     * @param ttl 0.1 s to 24 h
     * @throws IllegalStateException if the thread does not hold it, or it was lost
     */
    @Override
    public void renewLock(Object key, Duration ttl) {
        renew(key, ttl);
    }

    private void renew(Object key, @Nullable Duration ttl) {
        RegistryLock lock = locks.get(prefix + key);
        if (lock == null) {
            throw new IllegalStateException("the thread does not hold the lock " + prefix + key);
        }
        lock.renew(ttl);
    }

    /**
     * Forgets the locks that are not held, and were not used for long.
     *
     * @param age in milliseconds
     */
    @Override
    public void expireUnusedOlderThan(long age) {
        locks.values().removeIf(lock -> lock.isUnusedFor(age));
    }
}
