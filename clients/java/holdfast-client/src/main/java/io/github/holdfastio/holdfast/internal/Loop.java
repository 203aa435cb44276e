package io.github.holdfastio.holdfast.internal;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread of a client: it carries out tasks one after another, and is the timer of all its alarms. What the tasks of
 * one turn have left to be sent leaves behind the turn.
 */
public final class Loop {
    static final System.Logger LOG = System.getLogger("io.github.holdfastio.holdfast");

    final Alarms alarms = new Alarms();
    /** What is called behind each turn. */
    Runnable behind = () -> {};

    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile boolean sleeping;
    private volatile boolean over;
    private volatile boolean terminated;

    Loop(String owner) {
        thread = new Thread(this::run, "holdfast " + owner);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Ends the thread behind this turn. Tasks that come later are carried out by those who bring them. */
    void end() {
        over = true;
        LockSupport.unpark(thread);
    }

    /** Has a task carried out behind those that are waiting. Any thread may call it. */
    public void execute(Runnable task) {
        waiting.add(task);
        if (terminated) {
            drain();
        } else if (sleeping) {
            LockSupport.unpark(thread);
        }
    }

    /** Returns a future that ends like another one, or with null at a moment. */
    <T> CompletableFuture<Void> within(CompletableFuture<T> future, long until) {
        if (future.isDone()) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<Void> result = new CompletableFuture<>();
        Alarm alarm = new Alarm(() -> result.complete(null));
        alarms.set(alarm, until);
        future.whenComplete((value, error) -> {
            alarms.discard(alarm);
            result.complete(null);
        });
        return result;
    }

    private void run() {
        while (!over) {
            List<Runnable> turn = new ArrayList<>();
            for (Runnable task; (task = waiting.poll()) != null; ) {
                turn.add(task);
            }
            turn.forEach(Loop::guard);
            guard(() -> alarms.ring(Clock.now()));
            guard(behind);
            sleep();
        }
        terminated = true;
        drain();
    }

    private synchronized void drain() {
        for (Runnable task; (task = waiting.poll()) != null; ) {
            guard(task);
        }
    }

    private void sleep() {
        sleeping = true;
        if (waiting.isEmpty() && !over) {
            long pause = alarms.next() - Clock.now();
            if (pause > 0) {
                LockSupport.parkNanos(this, pause);
            }
        }
        sleeping = false;
        Thread.interrupted(); // nobody has a reason to interrupt it
    }

    private static void guard(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            LOG.log(System.Logger.Level.ERROR, "a task of a client has failed", e);
        }
    }
}
