package io.github.holdfastio.holdfast.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.ClientOptions;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.LockOptions;
import io.github.holdfastio.holdfast.LossReason;
import io.github.holdfastio.holdfast.LostException;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@HoldfastTest
@Timeout(60)
class ServerTest {
    /** The TTL of leases that are to run out. */
    private static final LockOptions SHORT = LockOptions.defaults().ttl(Duration.ofSeconds(3));

    private static LostException lossOf(Lock lock) throws InterruptedException, ExecutionException {
        CompletableFuture<LostException> lost = new CompletableFuture<>();
        lock.onLost(lost::complete);
        return lost.get();
    }

    @Test
    void endsALease(Server server, Client client) throws Exception {
        Lock lock = client.lock("ended");
        server.endLease("ended");
        assertEquals(LossReason.NOT_HELD, lossOf(lock).reason());
        assertFalse(lock.isHeld());
    }

    @Test
    void dropsRenewals(Server server, Client client) throws Exception {
        Lock lock = client.lock("dropped", SHORT);
        server.dropRenewals("dropped");
        assertEquals(LossReason.DEADLINE, lossOf(lock).reason());
        try (Lock next = client.lock("dropped", SHORT)) { // when the lease has run out
            next.extend(Duration.ofSeconds(3));
        }
    }

    @Test
    void dropsRenewalsBySession(Server server, Client client) throws Exception {
        client.lockAll(List.of("one", "other"), SHORT);
        Lock third = client.lock("third", SHORT);
        server.dropRenewals("third");
        assertEquals(LossReason.DEADLINE, lossOf(third).reason());
    }

    @Test
    void delaysGrants(Server server, Client client) throws Exception {
        Lock held = client.lock("held");
        server.delayGrants(Duration.ofHours(1));
        CompletableFuture<Lock> delayed = client.lockAsync("delayed", LockOptions.defaults());
        held.extend(Duration.ofMinutes(1));
        held.release();
        assertFalse(delayed.isDone());
        delayed.cancel(true);
        server.delayGrants(Duration.ZERO);
        client.lock("delayed").close();
    }

    @Test
    void stopsAndStartsWithItsData(Server server) throws Exception {
        try (Client ann = Holdfast.connect(server.url(), ClientOptions.defaults().owner("ann"))) {
            Lock lock = ann.lock("kept");
            server.stop();
            assertRefused(server);
            server.start();
            try (Client other = Holdfast.connect(server.url())) {
                assertEquals("ann", other.get("kept").holders().get(0).owner());
                assertTrue(other.tryLock("kept").isEmpty());
            }
            server.kill();
            server.start();
            lock.extend(Duration.ofMinutes(1));
            lock.release();
        }
    }

    private static void assertRefused(Server server) throws IOException {
        URI url = URI.create(server.url());
        try (Socket socket = new Socket(url.getHost(), url.getPort())) {
            assertEquals(-1, socket.getInputStream().read());
        }
    }

    @Test
    void saysThatNobodyHoldsTheLock(Server server) {
        assertThrows(IllegalStateException.class, () -> server.endLease("free"));
        assertThrows(IllegalStateException.class, () -> server.dropRenewals("free"));
    }

    @Nested
    class Inner {
        @Test
        void hasTheNodeOfTheOuterClass(Server server, Client client) throws Exception {
            try (Client other = Holdfast.connect(server.url())) {
                client.lock("inner");
                assertTrue(other.get("inner").held());
            }
        }
    }
}
