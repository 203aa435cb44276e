package io.github.holdfastio.holdfast.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.ClientOptions;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of the lock of a task when something fails. */
@HoldfastTest
@Timeout(120)
class FaultsTest {
    private static LockConfiguration task(String name, Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), name, atMost, atLeast);
    }

    private static Optional<SimpleLock> lock(Client client, String name) {
        return new HoldfastLockProvider(client).lock(task(name, Duration.ofMinutes(1), Duration.ZERO));
    }

    /** Returns when the lock is free. */
    private static void awaitFree(Client client, String name) throws InterruptedException {
        client.lock(name).release();
    }

    @Test
    void theLockOfAKilledProcessRunsOut(Server server, Client client) throws Exception {
        try (Holder holder = Holder.start(server.url(), "killed", Duration.ofSeconds(6))) {
            holder.signal("KILL");
            assertNotNull(client.get("killed").holder());
            awaitFree(client, "killed");
            assertTrue(lock(client, "killed").isPresent());
        }
    }

    @Test
    void aPausedProcessKnowsThatItsLockIsLost(Server server, Client client) throws Exception {
        try (Holder holder = Holder.start(server.url(), "paused", Duration.ofSeconds(3))) {
            holder.signal("STOP");
            awaitFree(client, "paused");
            SimpleLock next = lock(client, "paused").orElseThrow();
            holder.signal("CONT");
            holder.endTask();
            assertEquals("lost", holder.line());
            assertNotNull(client.get("paused").holder()); // the late end of the first task is not that of the second
            next.unlock();
        }
    }

    @Test
    void aTaskIsNotRunWithoutANode(Server server) throws Exception {
        try (Client client =
                Holdfast.connect(server.url(), ClientOptions.defaults().timeout(Duration.ofSeconds(1)))) {
            lock(client, "kept").orElseThrow();
            server.kill();
            assertThrows(LockException.class, () -> lock(client, "other"));
            server.start();
            try (Client other = Holdfast.connect(server.url())) {
                assertTrue(lock(other, "kept").isEmpty());
                lock(other, "other").orElseThrow().unlock();
            }
        }
    }

    @Test
    void aTaskThatHasRunIsNoErrorWithoutANode(Server server, Client other) throws Exception {
        try (Client client =
                Holdfast.connect(server.url(), ClientOptions.defaults().timeout(Duration.ofSeconds(1)))) {
            SimpleLock lock = lock(client, "done").orElseThrow();
            server.kill();
            lock.unlock();
            server.start();
            awaitFree(other, "done"); // the client goes on
        }
    }

    @Test
    void theShortestHoldOutlivesTheProcess(Server server, Client client) throws Exception {
        try (Client first = Holdfast.connect(server.url())) {
            new HoldfastLockProvider(first)
                    .lock(task("resting", Duration.ofMinutes(10), Duration.ofMinutes(5)))
                    .orElseThrow()
                    .unlock();
        }
        assertTrue(lock(client, "resting").isEmpty());
    }

    @Test
    void anExtendedLockIsKeptAtLeastForTheTimeOfTheExtension(Client client) throws Exception {
        SimpleLock lock = lock(client, "extended").orElseThrow();
        lock.extend(Duration.ofMinutes(10), Duration.ofMinutes(5)).orElseThrow().unlock();
        assertTrue(lock(client, "extended").isEmpty());
    }

    @Test
    void aLockIsThatOfTheClientToo(Client client) throws Exception {
        try (Lock held = client.lock("both")) {
            assertTrue(held.isHeld());
            assertTrue(lock(client, "both").isEmpty());
        }
        lock(client, "both").orElseThrow().unlock();
    }
}
