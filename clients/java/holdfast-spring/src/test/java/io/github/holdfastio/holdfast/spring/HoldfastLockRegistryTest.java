package io.github.holdfastio.holdfast.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.LockOptions;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.DistributedLock;

@HoldfastTest
@Timeout(120)
class HoldfastLockRegistryTest {
    private Client client;
    private Client otherClient;
    private HoldfastLockRegistry registry;
    private HoldfastLockRegistry other;

    @BeforeEach
    void connect(Server server, Client client) throws InterruptedException {
        this.client = client;
        this.registry = new HoldfastLockRegistry(client);
        this.otherClient = Holdfast.connect(server.url());
        this.other = new HoldfastLockRegistry(otherClient);
    }

    @AfterEach
    void close() {
        otherClient.close();
    }

    @Test
    void excludesOtherRegistries() throws Exception {
        DistributedLock lock = registry.obtain("exclusive");
        lock.lock();
        assertFalse(other.obtain("exclusive").tryLock());
        assertFalse(other.obtain("exclusive").tryLock(1, TimeUnit.MILLISECONDS));
        lock.unlock();
        assertTrue(other.obtain("exclusive").tryLock(1, TimeUnit.MINUTES));
        other.obtain("exclusive").unlock();
    }

    @Test
    void excludesOtherThreads() throws Exception {
        DistributedLock lock = registry.obtain("threads");
        lock.lockInterruptibly();
        assertFalse(CompletableFuture.supplyAsync(lock::tryLock).get());
        CompletableFuture<Void> waits = CompletableFuture.runAsync(() -> {
            lock.lock();
            lock.unlock();
        });
        lock.unlock();
        waits.get();
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
    }

    @Test
    void isLockedAgainByItsThread() throws Exception {
        DistributedLock lock = registry.obtain("again");
        lock.lock();
        assertTrue(lock.tryLock());
        lock.lock();
        lock.unlock();
        lock.unlock();
        assertTrue(client.get("again").held());
        lock.unlock();
        assertFalse(client.get("again").held());
    }

    @Test
    void saysThatItWasLost(Server server) throws Exception {
        DistributedLock lock = registry.obtain("lost");
        lock.lock();
        server.endLease("lost");
        DistributedLock next = other.obtain("lost");
        next.lock();
        assertThrows(ConcurrentModificationException.class, lock::unlock);
        assertTrue(client.get("lost").held());
        next.unlock();
        lock.lock();
        lock.unlock();
    }

    @Test
    void renews() throws Exception {
        DistributedLock lock = registry.obtain("renewed");
        assertThrows(IllegalStateException.class, () -> registry.renewLock("renewed"));
        assertTrue(lock.tryLock(Duration.ZERO, Duration.ofMinutes(1)));
        assertEquals(Duration.ofMinutes(1), client.get("renewed").holder().ttl());
        registry.renewLock("renewed");
        registry.renewLock("renewed", Duration.ofMinutes(2));
        assertEquals(Duration.ofMinutes(2), client.get("renewed").holder().ttl());
        CompletableFuture<Void> foreign = CompletableFuture.runAsync(() -> registry.renewLock("renewed"));
        assertTrue(assertThrows(Exception.class, foreign::get).getCause() instanceof IllegalStateException);
        lock.unlock();
    }

    @Test
    void forgetsWhatIsNotUsed() {
        DistributedLock held = registry.obtain("held");
        DistributedLock unused = registry.obtain("unused");
        held.lock();
        registry.expireUnusedOlderThan(60_000);
        assertSame(unused, registry.obtain("unused"));
        registry.expireUnusedOlderThan(0);
        assertNotSame(unused, registry.obtain("unused"));
        assertSame(held, registry.obtain("held"));
        held.unlock();
    }

    @Test
    void namesLocksByPrefixAndKey() throws Exception {
        HoldfastLockRegistry named = new HoldfastLockRegistry(client, "app:", LockOptions.defaults());
        named.executeLocked(7, () -> assertTrue(client.get("app:7").held()));
        assertFalse(client.get("app:7").held());
    }

    @Test
    void electsALeaderOfSpringIntegration(Server server) throws Exception {
        Elected first = new Elected();
        Elected second = new Elected();
        LockRegistryLeaderInitiator one = new LockRegistryLeaderInitiator(registry, first);
        LockRegistryLeaderInitiator two = new LockRegistryLeaderInitiator(other, second);
        one.start();
        first.granted.get();
        two.start();
        assertFalse(second.granted.isDone());
        one.stop();
        first.revoked.get();
        second.granted.get();
        two.stop();
        second.revoked.get();
        one.destroy();
        two.destroy();
    }

    private static final class Elected extends DefaultCandidate {
        private final CompletableFuture<Void> granted = new CompletableFuture<>();
        private final CompletableFuture<Void> revoked = new CompletableFuture<>();

        Elected() {
            super("candidate", "leader");
        }

        @Override
        public void onGranted(Context context) {
            granted.complete(null);
        }

        @Override
        public void onRevoked(Context context) {
            revoked.complete(null);
        }
    }
}
