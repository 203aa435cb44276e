package io.github.holdfastio.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.ClosedException;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.LockOptions;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** Threads that wait, of both kinds: they are interrupted, and their client is closed. */
@HoldfastTest
@Timeout(60)
class ThreadsTest {
    /** A call in a thread of its own. */
    private static final class Call<T> {
        private final FutureTask<T> task;
        private final Thread thread;

        Call(Callable<T> callable) {
            task = new FutureTask<>(callable);
            thread = new Thread(task);
            thread.start();
        }

        Class<?> failure() {
            return assertThrows(ExecutionException.class, task::get).getCause().getClass();
        }
    }

    private static Lock view(Client client, String name) {
        return client.javaLock(name, LockOptions.defaults());
    }

    private static void awaitWaiting(Client client, String name, int number) throws InterruptedException {
        while (client.get(name).waiting() != number) {
            Thread.onSpinWait();
        }
    }

    @Test
    void lockGoesOnWaitingWhenInterrupted(Client client) throws Exception {
        Lock first = view(client, "uninterrupted");
        first.lock();
        Lock second = view(client, "uninterrupted");
        Call<Boolean> waits = new Call<>(() -> {
            second.lock();
            return Thread.interrupted();
        });
        awaitWaiting(client, "uninterrupted", 1);
        waits.thread.interrupt();
        while (waits.thread.isInterrupted()) { // until it has noticed
            Thread.onSpinWait();
        }
        first.unlock();
        assertTrue(waits.task.get());
        second.unlock();
    }

    @Test
    void anInterruptedThreadHoldsNothing(Client client) throws Exception {
        Lock first = view(client, "interrupted");
        first.lock();
        for (Interruptible call : List.<Interruptible>of(
                Lock::lockInterruptibly, lock -> lock.tryLock(1, TimeUnit.HOURS))) {
            Lock second = view(client, "interrupted");
            Call<Void> waits = new Call<>(() -> {
                call.make(second);
                return null;
            });
            awaitWaiting(client, "interrupted", 1);
            waits.thread.interrupt();
            assertEquals(InterruptedException.class, waits.failure());
            awaitWaiting(client, "interrupted", 0);
            assertThrows(IllegalMonitorStateException.class, second::unlock);
        }
        first.unlock();
        assertTrue(first.tryLock());
        first.unlock();
    }

    private interface Interruptible {
        void make(Lock lock) throws InterruptedException;
    }

    @Test
    void tryLockOfAnInterruptedThreadLeavesItInterrupted(Client client) throws Exception {
        Lock lock = view(client, "try");
        Thread.currentThread().interrupt();
        boolean locked = lock.tryLock();
        assertTrue(Thread.interrupted());
        assertFalse(locked);
        assertFalse(client.get("try").held());
    }

    @Test
    void closeEndsTheWaitOfThreads(Server server, Client other) throws Exception {
        Client client = Holdfast.connect(server.url());
        view(other, "closing").lock();
        List<Call<Void>> all = List.of(
                new Call<>(() -> {
                    view(client, "closing").lock();
                    return null;
                }),
                new Call<>(() -> {
                    view(client, "closing").tryLock(1, TimeUnit.HOURS);
                    return null;
                }),
                new Call<>(() -> {
                    client.lock("closing");
                    return null;
                }));
        awaitWaiting(other, "closing", all.size());
        client.close();
        for (Call<Void> call : all) {
            assertEquals(ClosedException.class, call.failure());
        }
        awaitWaiting(other, "closing", 0);
    }

    @Test
    @EnabledForJreRange(min = JRE.JAVA_21)
    void virtualThreadsThatWaitTakeNoThreadOfTheSystem(Client client) throws Exception {
        int number = 300; // the scheduler has 256 threads at most
        Lock first = view(client, "virtual");
        first.lock();
        // What JDK 17 lacks, for which this is compiled.
        ExecutorService threads = assertInstanceOf(ExecutorService.class,
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null));
        List<Future<Long>> all = IntStream.range(0, number).mapToObj(i -> threads.submit(() -> {
            try (io.github.holdfastio.holdfast.Lock lock = client.lock("virtual")) {
                return lock.token();
            }
        })).toList();
        awaitWaiting(client, "virtual", number);
        first.unlock();
        for (Future<Long> call : all) {
            assertTrue(call.get() > 1);
        }
        threads.shutdown();
    }
}
