package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.internal.Calls;
import io.github.holdfastio.holdfast.internal.Cancellation;
import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Events;
import io.github.holdfastio.holdfast.internal.Handles;
import io.github.holdfastio.holdfast.internal.Key;
import io.github.holdfastio.holdfast.internal.Locker;
import io.github.holdfastio.holdfast.internal.Queries;
import io.github.holdfastio.holdfast.internal.Scope;
import io.github.holdfastio.holdfast.internal.Share;
import io.github.holdfastio.holdfast.internal.Shares;
import io.github.holdfastio.holdfast.internal.Terms;
import io.nats.client.Connection;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Locks of one owner over a connection to NATS, made by {@link Holdfast}. Any thread may use it, platform and virtual
 * threads alike: no lock belongs to a thread.
 *
 * <p>When a call throws, or is interrupted, nothing is held: what may have been granted is given back in the background.
 * Calls that begin when the client is closed throw {@link ClosedException}. Futures complete in the executor of the
 * client; to cancel one ends its call.
 */
public final class Client implements AutoCloseable {
    private static final int OWNER_BYTES = 8;
    private static final int MAX_HOST = 100;

    private final Handles handles;
    private final Locker locker;
    private final Queries queries;
    private final long ttl;
    private final long cache;
    private final @Nullable BiConsumer<? super Lock, ? super @Nullable HoldfastException> onJeopardy;
    private final boolean ownsConnection;

    Client(Connection connection, ClientOptions options, boolean ownsConnection) {
        this.ownsConnection = ownsConnection;
        ttl = Checks.ttl(options.ttl);
        cache = Checks.duration("cache", options.cache, 0, Clock.NEVER);
        onJeopardy = options.onJeopardy;
        handles = new Handles(
                connection,
                new Handles.Settings(
                        options.owner == null ? newOwner() : Checks.owner(options.owner),
                        Checks.duration("timeout", options.timeout, Clock.MILLISECOND, Clock.NEVER),
                        Checks.prefix(options.prefix),
                        options.sessions,
                        Checks.secret(options.secret),
                        Checks.disconnect(options.releaseOnDisconnect, options.sessions),
                        options.executor));
        locker = new Locker(handles);
        queries = new Queries(handles);
    }

    /**
     * Work under what is held.
     *
     * @param <H> what is held
     * @param <T> what the work yields
     */
    @FunctionalInterface
    public interface Work<H, T extends @Nullable Object> {
        /**
         * Does the work.
         *
         * @param held what is held
         * @return what the work yields
         * @throws Exception what the work throws
         */
        T run(H held) throws Exception;
    }

    /**
     * Returns the name of the holder at the service.
     *
     * @return the owner
     */
    public String owner() {
        return handles.core.owner;
    }

    /**
     * Acquires a lock, and waits for it without a bound.
     *
     * @param name the resource: 1 to 512 bytes without control characters
     * @return a lock, renewed until it is released or lost
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time
     * @throws InvalidException if the name breaks a rule
     * @throws OverloadedException if a limit of the service was reached
     * @throws ExhaustedException if the resource has used up its tokens
     * @throws InterruptedException if the thread was interrupted
     */
    public Lock lock(String name) throws InterruptedException {
        return lock(name, LockOptions.defaults());
    }

    /**
     * Acquires a lock.
     *
     * @param name the resource
     * @param options what is asked for
     * @return a lock, renewed until it is released or lost
     * @throws HeldException if the lock is held, and the wait is zero
     * @throws LockTimeoutException if the wait is over
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time
     * @throws InvalidException if an argument breaks a rule, or the deployment lacks a feature
     * @throws OverloadedException if a limit of the service was reached
     * @throws ExhaustedException if the resource has used up its tokens
     * @throws InterruptedException if the thread was interrupted
     */
    public Lock lock(String name, LockOptions options) throws InterruptedException {
        return Calls.await(handles.core, locking(name, options), Client::giveBack);
    }

    /**
     * Does what {@link #lock(String, LockOptions)} does.
     *
     * @param name the resource
     * @param options what is asked for
     * @return a future, which has the errors of lock
     */
    public CompletableFuture<Lock> lockAsync(String name, LockOptions options) {
        return Calls.start(handles.core, locking(name, options), Client::giveBack);
    }

    /**
     * Acquires a lock if it is free.
     *
     * @param name the resource
     * @return a lock; empty: it is held
     * @throws InterruptedException if the thread was interrupted
     */
    public Optional<Lock> tryLock(String name) throws InterruptedException {
        return tryLock(name, LockOptions.defaults());
    }

    /**
     * Acquires a lock if it is free. The errors are those of {@link #lock(String, LockOptions)}.
     *
     * @param name the resource
     * @param options what is asked for, apart from the wait
     * @return a lock; empty: it is held
     * @throws InterruptedException if the thread was interrupted
     */
    public Optional<Lock> tryLock(String name, LockOptions options) throws InterruptedException {
        try {
            return Optional.of(lock(name, options.waitFor(Duration.ZERO)));
        } catch (HeldException e) {
            return Optional.empty();
        }
    }

    /**
     * Does work under a lock, in the calling thread. If the lock is lost, or the client is closed, the thread is
     * interrupted, and LostException or ClosedException is thrown instead of the InterruptedException of the work. The
     * lock is released at the end in any case.
     *
     * @param <T> what the work yields
     * @param name the resource
     * @param options what is asked for
     * @param work the work
     * @return what the work yields
     * @throws Exception what the work throws, or {@link #lock(String, LockOptions)}; LostException if the lock was not
     *     held to the end
     */
    public <T extends @Nullable Object> T withLock(String name, LockOptions options, Work<? super Lock, T> work)
            throws Exception {
        Lock lock = lock(name, options);
        return Scope.run(lock.holding, () -> work.run(lock));
    }

    /**
     * Acquires several locks, at most 1 000, all of them or none. The order of the names does not matter, and a name that
     * is given twice counts once. The options apply to each lock, and the wait to all of them together.
     *
     * <p>First it asks for all of them at once; if one is not free, it acquires them one after another, in the order of
     * their keys, which is the same for all callers. So calls never wait for one another in a circle, unless the caller
     * holds a lock already: to acquire a further one, release the set.
     *
     * @param names the resources
     * @param options what is asked for; no cache
     * @return the locks
     * @throws LostException if a lock was lost while others were waited for
     * @throws HoldfastException as of {@link #lock(String, LockOptions)}; its resource is the lock that could not be had
     * @throws InterruptedException if the thread was interrupted
     */
    public Locks lockAll(Collection<String> names, LockOptions options) throws InterruptedException {
        return Calls.await(handles.core, lockingAll(names, options), Client::giveBack);
    }

    /**
     * Does what {@link #lockAll} does.
     *
     * @param names the resources
     * @param options what is asked for; no cache
     * @return a future, which has the errors of lockAll
     */
    public CompletableFuture<Locks> lockAllAsync(Collection<String> names, LockOptions options) {
        return Calls.start(handles.core, lockingAll(names, options), Client::giveBack);
    }

    /**
     * Does work under several locks, as {@link #withLock}. The loss of one lock is the loss of all.
     *
     * @param <T> what the work yields
     * @param names the resources
     * @param options what is asked for; no cache
     * @param work the work
     * @return what the work yields
     * @throws Exception what the work throws, or {@link #lockAll}
     */
    public <T extends @Nullable Object> T withLocks(
            Collection<String> names, LockOptions options, Work<? super Locks, T> work) throws Exception {
        Locks locks = lockAll(names, options);
        return Scope.run(locks.holding, () -> work.run(locks));
    }

    /**
     * Waits until this client leads an election, and publishes a value. An election is an exclusive lock: candidates wait
     * in the queue of the resource, and the holder leads. The value is the entry "value" of the metadata of its lock.
     *
     * @param name the election
     * @param value what observers see of the leader, such as its address
     * @param options those of an exclusive lock: no limit, mode shared, ephemeral, reentrant nor cache
     * @return the leadership
     * @throws HoldfastException as of {@link #lock(String, LockOptions)}
     * @throws InterruptedException if the thread was interrupted
     */
    public Leadership campaign(String name, String value, LockOptions options) throws InterruptedException {
        return Calls.await(handles.core, campaigning(name, value, options), leadership -> giveBack(leadership.lock()));
    }

    /**
     * Does what {@link #campaign} does.
     *
     * @param name the election
     * @param value what observers see of the leader
     * @param options as of campaign
     * @return a future, which has the errors of campaign
     */
    public CompletableFuture<Leadership> campaignAsync(String name, String value, LockOptions options) {
        return Calls.start(handles.core, campaigning(name, value, options), leadership -> giveBack(leadership.lock()));
    }

    /**
     * Does work while this client leads an election, as {@link #withLock}. At its end the client resigns.
     *
     * @param <T> what the work yields
     * @param name the election
     * @param value what observers see of the leader
     * @param options as of {@link #campaign}
     * @param work the work
     * @return what the work yields
     * @throws Exception what the work throws, or {@link #campaign}
     */
    public <T extends @Nullable Object> T lead(
            String name, String value, LockOptions options, Work<? super Leadership, T> work) throws Exception {
        Leadership leadership = campaign(name, value, options);
        return Scope.run(leadership.lock().holding, () -> work.run(leadership));
    }

    /**
     * Returns who leads an election now. The errors are those of {@link #get}.
     *
     * @param name the election
     * @return the leader
     * @throws InterruptedException if the thread was interrupted
     */
    public Leader leader(String name) throws InterruptedException {
        LockState state = get(name);
        return Leader.of(state.name(), state.holder());
    }

    /**
     * Begins to observe who leads an election.
     *
     * @param name the election
     * @return the observation, to be closed
     * @throws InvalidException if the name breaks a rule
     * @throws UnavailableException if the connection is closed
     * @throws InterruptedException if the thread was interrupted
     */
    public Observation observe(String name) throws InterruptedException {
        String normal = Key.normalize(name);
        return new Observation(this, normal, events(Key.encode(normal)));
    }

    /**
     * Begins to watch the locks whose key a pattern selects. No event is missed from its return on, but for
     * interruptions of the connection.
     *
     * @param pattern a key with the wildcards of NATS: * for one level of the name, &gt; for the rest
     * @return the watch, to be closed
     * @throws InvalidException if the pattern breaks a rule, or the user may not subscribe to it
     * @throws UnavailableException if the connection is closed
     * @throws InterruptedException if the thread was interrupted
     */
    public Watch watch(String pattern) throws InterruptedException {
        return new Watch(events(pattern));
    }

    /**
     * Returns what the service knows of a resource.
     *
     * @param name the resource
     * @return its state
     * @throws UnavailableException if there was no answer in time
     * @throws InvalidException if the name breaks a rule
     * @throws InterruptedException if the thread was interrupted
     */
    public LockState get(String name) throws InterruptedException {
        return Calls.await(handles.core, c -> queries.get(name, c));
    }

    /**
     * Returns the leases that are held now of resources whose key a pattern selects. It reads them page by page, so they
     * are of no common moment.
     *
     * @param pattern a key with the wildcards of NATS; empty selects all
     * @return the leases
     * @throws UnavailableException if there was no answer in time
     * @throws InvalidException if the pattern breaks a rule
     * @throws InterruptedException if the thread was interrupted
     */
    public List<Lease> list(String pattern) throws InterruptedException {
        return Calls.await(handles.core, c -> queries.list(pattern, c));
    }

    /**
     * Returns the lost leases that hold resources back whose key a pattern selects, as {@link #list} does.
     *
     * @param pattern a key with the wildcards of NATS; empty selects all
     * @return the leases
     * @throws UnavailableException if there was no answer in time
     * @throws InvalidException if the pattern breaks a rule, or the deployment lacks the feature "delay"
     * @throws InterruptedException if the thread was interrupted
     */
    public List<HeldBack> lost(String pattern) throws InterruptedException {
        return Calls.await(handles.core, c -> queries.lost(pattern, c));
    }

    /**
     * Takes a lock away from its holder, as an operator does. Its client learns of it and reports it as lost. What the
     * holder does until then is not stopped: only a check of its token does that.
     *
     * @param name the resource
     * @param token that of the lease, so that no later one is broken
     * @param reason is shown in events and logs; may be empty
     * @throws NotHeldException if nobody holds the resource
     * @throws StaleTokenException if another lease holds it, which is the holder of the exception
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time
     * @throws InvalidException if an argument breaks a rule
     * @throws InterruptedException if the thread was interrupted; the outcome is not known then
     */
    public void breakLock(String name, long token, String reason) throws InterruptedException {
        Calls.await(handles.core, c -> queries.breakLock(name, token, reason, c));
    }

    /**
     * Says that the holder of a lost lease can do no more harm, so that it no longer holds its resource back. A repeated
     * confirmation succeeds as long as the resource has not been granted since.
     *
     * @param name the resource
     * @param token that of the lost lease
     * @param by who confirms, at most 256 bytes; it is shown in events and logs
     * @param how how the holder was stopped, at most 512 bytes
     * @throws NotHeldException if no lease holds the resource, or holds it back
     * @throws StaleTokenException if it is another lease that does
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time
     * @throws InvalidException if an argument breaks a rule, or the deployment lacks the feature "delay"
     * @throws InterruptedException if the thread was interrupted; the outcome is not known then
     */
    public void confirm(String name, long token, String by, String how) throws InterruptedException {
        Calls.await(handles.core, c -> queries.confirm(name, token, by, how, c));
    }

    /**
     * Returns the resources for which most requests wait, also if they are held back after a loss.
     *
     * @param pattern as of {@link #list}
     * @param limit how many at most, 1 to 1000
     * @return the queues, the longest first
     * @throws UnavailableException if there was no answer in time
     * @throws InvalidException if an argument breaks a rule, or the deployment has no rankings
     * @throws InterruptedException if the thread was interrupted
     */
    public List<WaitQueue> longestQueues(String pattern, int limit) throws InterruptedException {
        return Calls.await(handles.core, c -> queries.queues("QUEUE", pattern, limit, c));
    }

    /**
     * Returns the resources for which a request has waited longest, as {@link #longestQueues}.
     *
     * @param pattern as of {@link #list}
     * @param limit how many at most, 1 to 1000
     * @return the queues, the oldest first
     * @throws InterruptedException if the thread was interrupted
     */
    public List<WaitQueue> longestWaits(String pattern, int limit) throws InterruptedException {
        return Calls.await(handles.core, c -> queries.queues("WAIT", pattern, limit, c));
    }

    /**
     * Returns the leases that have been held longest, as {@link #longestQueues}.
     *
     * @param pattern as of {@link #list}
     * @param limit how many at most, 1 to 1000
     * @return the leases, the oldest first
     * @throws InterruptedException if the thread was interrupted
     */
    public List<Lease> longestHolds(String pattern, int limit) throws InterruptedException {
        return Calls.await(handles.core, c -> queries.holds(pattern, limit, c));
    }

    /**
     * Returns how many cached leases the client has, and how often they were used.
     *
     * @return the numbers
     * @throws InterruptedException if the thread was interrupted
     */
    public CacheStats cacheStats() throws InterruptedException {
        return Calls.await(handles.core, c -> CompletableFuture.completedFuture(locker.cache.stats()));
    }

    /**
     * Returns a view of a lock for code that takes one of java.util.concurrent. It cannot say that a lock was lost, but by
     * the exception of its unlock, and has no fence: what it protects must not depend on it alone. Its lock belongs to no
     * thread, and is not reentrant: who locks it twice waits for itself. It has no conditions. To interrupt its lock
     * method does not end the wait; a failure of the service does, by a {@link HoldfastException}.
     *
     * @param name the resource
     * @param options what is asked for, apart from the wait
     * @return the view
     * @throws InvalidException if an argument breaks a rule
     */
    public java.util.concurrent.locks.Lock javaLock(String name, LockOptions options) {
        Key.encode(name);
        options.terms(ttl, cache);
        return new JavaLock(this, name, options);
    }

    /**
     * Releases all locks, ends all calls with {@link ClosedException}, and waits for what goes on, no longer than the
     * timeout. Locks that cannot be released run out by their TTL. The connection is closed if {@link Holdfast#connect}
     * has made it. To call it again waits for its end. If the thread is interrupted, it does not wait any longer, and
     * stays interrupted; closing goes on.
     *
     * @throws UnknownOutcomeException if not everything was answered in time
     */
    @Override
    public void close() {
        CompletableFuture<Void> end = Calls.start(handles.core, c -> handles.close(), v -> {});
        CompletableFuture<Void> closed = ownsConnection ? end.whenComplete((v, error) -> closeConnection()) : end;
        try {
            closed.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw Calls.rethrown(e.getCause());
        }
    }

    @Override
    public String toString() {
        return "Client " + owner();
    }

    private void closeConnection() {
        try {
            handles.core.nc.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Function<Cancellation, CompletableFuture<Lock>> locking(String name, LockOptions options) {
        Terms terms = options.terms(ttl, cache);
        long begun = Clock.now();
        return c -> locker.share(name, terms, begun, c).thenApply(this::locked);
    }

    private Function<Cancellation, CompletableFuture<Locks>> lockingAll(Collection<String> names, LockOptions options) {
        Checks.require(!options.asksForCache(), "cache cannot be given for several locks; leave it out");
        Terms terms = options.terms(ttl, 0);
        List<String> copy = List.copyOf(names);
        return c -> locker.all(copy, terms, c).thenApply(this::locked);
    }

    private Function<Cancellation, CompletableFuture<Leadership>> campaigning(
            String name, String value, LockOptions options) {
        Terms terms = options.metadata(Leadership.withValue(options.metadata, value)).terms(ttl, 0);
        boolean isElection = !options.isSharedOrLimited() && !terms.ephemeral() && !terms.reentrant();
        if (!isElection || options.asksForCache()) {
            String text = "an election cannot have a limit, the mode shared, ephemeral, reentrant or cache";
            throw new InvalidException(text, "campaign", name, null);
        }
        return c -> {
            handles.core.check("campaign", "");
            return handles.need("values", "campaign", name)
                    .thenCompose(v -> locker.share(name, terms, Clock.now(), c))
                    .thenApply(share -> new Leadership(locked(share)));
        };
    }

    private Lock locked(Share share) {
        Lock lock = new Lock(share);
        if (onJeopardy != null) {
            share.onJeopardy(error -> onJeopardy.accept(lock, error));
        }
        return lock;
    }

    private Locks locked(Shares shares) {
        return new Locks(shares, shares.all().stream().map(this::locked).toList());
    }

    /** Gives back what a call has yielded that is not waited for any more. */
    private static void giveBack(Held held) {
        held.holding.release();
    }

    private Events events(String pattern) throws InterruptedException {
        Events events = new Events(handles.core, pattern);
        try {
            Calls.await(handles.core, c -> events.begin());
        } catch (InterruptedException e) {
            events.close();
            throw e;
        }
        return events;
    }

    private static String newOwner() {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            host = "unknown";
        }
        String part = host.substring(0, Math.min(host.length(), MAX_HOST));
        return part + ":" + ProcessHandle.current().pid() + ":" + Checks.hex(Checks.random(OWNER_BYTES), OWNER_BYTES);
    }
}
