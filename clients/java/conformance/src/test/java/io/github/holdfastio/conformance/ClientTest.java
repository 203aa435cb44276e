package io.github.holdfastio.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.ClientOptions;
import io.github.holdfastio.holdfast.ClosedException;
import io.github.holdfastio.holdfast.HeldBack;
import io.github.holdfastio.holdfast.HeldException;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.LockOptions;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.WaitQueue;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the conformance cases cannot ask of a client: its idiom in Java, and the queries of operators. */
@HoldfastTest
@SuppressWarnings("try") // a lock that is only held
@Timeout(60)
class ClientTest {
    private static final LockOptions AT_ONCE = LockOptions.defaults().waitFor(Duration.ZERO);

    private static Lock acquired(CompletableFuture<Lock> call) throws Exception {
        return call.get(30, TimeUnit.SECONDS);
    }

    @Test
    void aBlockReleasesItsLock(Client client) throws Exception {
        Lock held;
        try (Lock lock = client.lock("block")) {
            held = lock;
            assertTrue(lock.isHeld());
            lock.check();
            assertEquals("000000000000001", lock.fence());
            assertEquals(lock.token(), lock.claim().token());
        }
        assertFalse(held.isHeld());
        assertEquals(Duration.ZERO, held.remaining());
        assertFalse(client.get("block").held());
        held.close(); // it has the outcome of the first release
    }

    @Test
    void aBlockWhoseLockIsLostThrows(Client client) throws Exception {
        assertThrows(LostException.class, () -> {
            try (Lock lock = client.lock("lost-in-a-block")) {
                CountDownLatch lost = new CountDownLatch(1);
                lock.onLost(e -> lost.countDown());
                client.breakLock(lock.name(), lock.token(), "test");
                lost.await();
                assertThrows(LostException.class, lock::check);
            }
        });
    }

    @Test
    void aCancelledFutureHoldsNothing(Client client) throws Exception {
        try (Lock lock = client.lock("cancelled")) {
            CompletableFuture<Lock> waits = client.lockAsync("cancelled", LockOptions.defaults());
            while (client.get("cancelled").waiting() == 0) {
                Thread.onSpinWait();
            }
            assertTrue(waits.cancel(true));
            assertThrows(CancellationException.class, waits::join);
            while (client.get("cancelled").waiting() > 0) {
                Thread.onSpinWait();
            }
        }
        try (Lock next = client.lock("cancelled", AT_ONCE)) {
            assertEquals(2, next.token());
        }
    }

    @Test
    void futuresAndThreadsShareAClient(Client client) throws Exception {
        CompletableFuture<Lock> first = client.lockAsync("future", LockOptions.defaults());
        Lock lock = acquired(first);
        CompletableFuture<Lock> second = client.lockAsync("future", LockOptions.defaults());
        lock.wantedAsync().get(30, TimeUnit.SECONDS);
        lock.releaseAsync().get(30, TimeUnit.SECONDS);
        acquired(second).close();
        ExecutionException e = assertThrows(ExecutionException.class, () -> {
            try (Lock held = client.lock("future")) {
                client.lockAsync("future", AT_ONCE).get();
            }
        });
        assertInstanceOf(HeldException.class, e.getCause());
    }

    @Test
    void anInterruptedWaitHoldsNothing(Client client) throws Exception {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        try (Lock lock = client.lock("interrupted")) {
            Thread waits = new Thread(() -> thrown.set(assertThrows(
                    InterruptedException.class, () -> client.lock("interrupted"))));
            waits.start();
            while (client.get("interrupted").waiting() == 0) {
                Thread.onSpinWait();
            }
            waits.interrupt();
            waits.join();
        }
        assertInstanceOf(InterruptedException.class, thrown.get());
        client.lock("interrupted").close();
    }

    @Test
    void workIsInterruptedByItsLoss(Client client) {
        assertThrows(LostException.class, () -> client.withLock("work", LockOptions.defaults(), lock -> {
            client.breakLock(lock.name(), lock.token(), "test");
            new CountDownLatch(1).await();
            return null;
        }));
        assertFalse(Thread.interrupted());
    }

    @Test
    void anErrorOfTheWorkIsThrownAsItIs(Client client) throws Exception {
        assertThrows(ArithmeticException.class, () -> client.withLock("error", LockOptions.defaults(), lock -> {
            throw new ArithmeticException();
        }));
        assertFalse(client.get("error").held());
    }

    @Test
    void aViewAsALockOfJava(Client client) throws Exception {
        java.util.concurrent.locks.Lock view = client.javaLock("view", LockOptions.defaults());
        assertThrows(IllegalMonitorStateException.class, view::unlock);
        view.lock();
        assertFalse(client.javaLock("view", LockOptions.defaults()).tryLock());
        assertFalse(client.javaLock("view", LockOptions.defaults()).tryLock(50, TimeUnit.MILLISECONDS));
        view.unlock();
        assertTrue(view.tryLock());
        view.unlock();
        assertThrows(UnsupportedOperationException.class, view::newCondition);
    }

    @Test
    void operatorsList(Client client) throws Exception {
        LockOptions delayed = LockOptions.defaults().delay(Duration.ofMinutes(1));
        try (Lock one = client.lock("list.one");
                Lock two = client.lock("list.two")) {
            assertEquals(List.of("list.one", "list.two"), client.list("list.*").stream().map(Lease::name).sorted().toList());
            assertEquals(List.of("list.one"), client.longestHolds("list.one", 10).stream().map(Lease::name).toList());
            CompletableFuture<Lock> waits = client.lockAsync("list.two", LockOptions.defaults());
            while (client.get("list.two").waiting() == 0) {
                Thread.onSpinWait();
            }
            WaitQueue queue = client.longestQueues("list.*", 10).get(0);
            assertEquals(List.of("list.two", 1L, two.token()), List.of(queue.name(), queue.waiting(), queue.holder().token()));
            assertEquals(1, client.longestWaits("list.*", 10).size());
            waits.cancel(true);
            Lock lost = client.lock("list.lost", delayed);
            client.breakLock(lost.name(), lost.token(), "test");
            HeldBack back = client.lost("list.*").get(0);
            assertEquals(lost.token(), back.lease().token());
            client.confirm("list.lost", lost.token(), "a test", "stopped");
            assertEquals(List.of(), client.lost("list.*"));
        }
        assertThrows(InvalidException.class, () -> client.list("a b"));
        assertThrows(InvalidException.class, () -> client.longestHolds("", 0));
    }

    @Test
    void aClosedClientHoldsNothing(Server server, Client other) throws Exception {
        Client client = Holdfast.connect(server.url(), ClientOptions.defaults().owner("closed"));
        Lock lock = client.lock("closed");
        CompletableFuture<Lock> waits = client.lockAsync("closed", LockOptions.defaults());
        client.close();
        client.close();
        assertFalse(lock.isHeld());
        assertNull(lock.reason());
        assertInstanceOf(ClosedException.class, assertThrows(ExecutionException.class, waits::get).getCause());
        assertThrows(ClosedException.class, () -> client.lock("closed"));
        assertFalse(other.get("closed").held());
    }

    @Test
    void optionsThatBreakARule(Client client) {
        LockOptions options = LockOptions.defaults();
        for (LockOptions wrong : List.of(
                options.ttl(Duration.ofMillis(99)),
                options.ttl(Duration.ofDays(2)),
                options.permits(2),
                options.limit(0),
                options.limit(2).permits(3),
                options.waitFor(Duration.ofMillis(-1)),
                options.ephemeral(true).delay(Duration.ofSeconds(1)),
                options.reentrant(true).maxHold(Duration.ofSeconds(1)),
                options.renew(false).cache(Duration.ofSeconds(1)))) {
            assertThrows(InvalidException.class, () -> client.lock("rule", wrong));
        }
    }
}
