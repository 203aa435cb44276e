package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.ClosedException;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What all parts of a client send requests and run tasks with. */
public final class Core {
    /** Bounds what goes on in the background for calls that have returned. What does not fit runs out by its TTL. */
    private static final int MAX_BACKGROUND = 4096;

    public final Connection nc;
    public final String owner;
    public final long timeout;
    /** What the subjects of events begin with. */
    final String events;
    public final Loop loop;
    final Sender sender;
    /** The client is closed, or is being closed. Any thread may read it. */
    volatile boolean closed;
    /** The requests that are not answered yet. */
    final Set<Exchange> exchanges = new LinkedHashSet<>();
    /** What ends with the connection or the client. */
    final Set<Events> watches = new LinkedHashSet<>();

    private final Executor workers;
    private final Executor executor;
    /** What close waits for, with what ends it. */
    private final Map<CompletableFuture<?>, Cancellation> tasks = new HashMap<>();

    private int inBackground;
    /** No request is sent any more. */
    private boolean ended;

    Core(Connection nc, Handles.Settings settings, Handles client) {
        this.nc = nc;
        owner = settings.owner();
        timeout = settings.timeout();
        events = settings.prefix() + ".event.";
        workers = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "holdfast callback");
            thread.setDaemon(true);
            return thread;
        });
        executor = settings.executor() == null ? workers : settings.executor();
        loop = new Loop(owner);
        sender = new Sender(nc, loop, settings.prefix(), owner, client);
    }

    /** Calls a function of the application. Any thread may call it. */
    public void call(Runnable function) {
        try {
            executor.execute(function);
        } catch (RejectedExecutionException e) { // the application has shut it down, and may wait for a future yet
            workers.execute(function);
        }
    }

    /** Notes that something goes on, which close waits for; cancellation ends it. */
    <T> CompletableFuture<T> spawn(CompletableFuture<T> work, Cancellation cancellation) {
        if (!work.isDone()) {
            tasks.put(work, cancellation);
            work.whenComplete((value, error) -> tasks.remove(work));
        }
        return work;
    }

    /** Begins something that a call has left. Returns null if too much of it goes on already. */
    @Nullable <T> CompletableFuture<T> background(Function<Cancellation, CompletableFuture<T>> begin) {
        if (inBackground >= MAX_BACKGROUND || ended) {
            return null;
        }
        inBackground++;
        Cancellation cancellation = new Cancellation();
        CompletableFuture<T> work = spawn(begin.apply(cancellation), cancellation);
        work.whenComplete((value, error) -> inBackground--);
        return work;
    }

    /** Throws ClosedException if the client is closed. */
    public void check(String operation, String resource) {
        if (closed) {
            throw new ClosedException("the client is closed", operation, resource, null);
        }
    }

    /** Returns the answer to a request, also while the client closes; if there is none in time, it fails as call. */
    CompletableFuture<Answer> request(Request request, long within, Cancellation cancellation) {
        if (ended) {
            return Failures.failed(
                    new ClosedException("the client is closed", request.operation(), request.resource(), null));
        }
        Exchange x = new Exchange(sender, exchanges, request);
        CompletableFuture<Answer> answer = x.run(Clock.now() + Math.max(within, 0));
        cancellation.step(x::cancel);
        return answer.whenComplete((a, error) -> x.finish());
    }

    /** Returns the answer to a request within the timeout; if there is none, it fails with what is known. */
    public CompletableFuture<Answer> call(
            String operation, String resource, String key, Message message, Cancellation cancellation) {
        check(operation, resource);
        return request(Request.of(operation, resource, key, message).thatGivesUp(), timeout, cancellation);
    }

    /** Ends when NATS has taken in what was published and subscribed before; false if it has not. */
    CompletableFuture<Boolean> roundTrip() {
        return CompletableFuture.supplyAsync(this::flush, workers).thenApplyAsync(isDone -> isDone, loop::execute);
    }

    private boolean flush() {
        try {
            nc.flush(Duration.ofNanos(timeout));
            return true;
        } catch (TimeoutException | IllegalStateException e) {
            return false; // there is no connection at present
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Returns a request of the owner about a lease that has this secret, or is to have it; null: it has none. */
    Message message(byte @Nullable [] secret) {
        return new Message().with("owner", owner).with("secret", secret);
    }

    /** Releases in the background. What is not released in time runs out. Null: too much goes on already. */
    @Nullable CompletableFuture<Answer> releaseLater(String key, Message message, long within) {
        return background(c -> request(Request.of("release", "", key, message), within, c));
    }

    /** Ends the calls and watches of the application. Requests can be sent until end is called. */
    void close() {
        closed = true;
        for (Exchange x : List.copyOf(exchanges)) {
            if (x.request.givesUp()) {
                x.stop();
            }
        }
        endWatches(new ClosedException("the client is closed", "watch", "", null));
    }

    /** Waits for what goes on, no longer than until a moment; then ends it. Returns whether it ended by itself. */
    CompletableFuture<Boolean> end(long until) {
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        awaitTasks(until, result);
        return result;
    }

    private void awaitTasks(long until, CompletableFuture<Boolean> result) {
        if (!tasks.isEmpty() && Clock.now() < until) {
            CompletableFuture<Void> all = CompletableFuture.allOf(tasks.keySet().toArray(CompletableFuture<?>[]::new))
                    .handle((value, error) -> null);
            // What ends may have begun something else.
            loop.within(all, until).thenRun(() -> loop.execute(() -> awaitTasks(until, result)));
            return;
        }
        ended = true;
        boolean inTime = tasks.isEmpty();
        List.copyOf(exchanges).forEach(Exchange::stop);
        List.copyOf(tasks.values()).forEach(Cancellation::cancel);
        result.complete(inTime);
    }

    /** Sends again at once what may have been lost with the last connection. */
    void reconnected() {
        List.copyOf(exchanges).forEach(Exchange::reconnected);
        watches.forEach(Events::note);
        if (sender.off) {
            endWatches(new UnavailableException(null, "the connection is closed", "watch", ""));
        }
    }

    private void endWatches(HoldfastException error) {
        List.copyOf(watches).forEach(watch -> watch.end(error));
    }
}
