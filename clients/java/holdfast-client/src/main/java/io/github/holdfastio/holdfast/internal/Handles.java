package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.UnknownOutcomeException;
import io.nats.client.Connection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The leases that a client holds, and what they have in common. */
public final class Handles {
    /** How many leases a client remembers that it has lost. A late answer comes within seconds. */
    private static final int MAX_LOSSES = 4096;

    /** A lease. */
    record Id(String name, long token) {}

    /** What a client is made with. Times are in nanoseconds; disconnect: 0: without a bound. */
    public record Settings(
            String owner,
            long timeout,
            String prefix,
            boolean sessions,
            byte[] secret,
            long disconnect,
            @Nullable Executor executor) {}

    public final Core core;
    final Deployment deployment;
    /** The leases. */
    final Map<Id, Handle> held = new LinkedHashMap<>();
    /** The latest of each kind, which further locks may share. */
    final Map<Kind, Handle> shared = new LinkedHashMap<>();
    /** Those that are being released. */
    final Leaving leaving = new Leaving();

    final Sessions sessions;
    final Ends ends;
    /** For how long the client may not be connected; 0: for as long as it has leases. */
    final long disconnect;
    /** The SHA-256 of the secret of new leases. */
    final byte[] secretHash;
    /**
     * The latest leases that were lost. A late answer may grant one of them once more, and who has lost a lock may still
     * be at work: a release would let the next holder in, also where a delay is to keep it out.
     */
    private final Map<Id, Boolean> losses = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Id, Boolean> eldest) {
            return size() > MAX_LOSSES;
        }
    };

    private final byte[] secret;
    private boolean logged;
    private @Nullable CompletableFuture<Void> closing;

    public Handles(Connection nc, Settings s) {
        core = new Core(nc, s, this);
        secret = s.secret;
        secretHash = Secret.hash(secret);
        disconnect = s.disconnect;
        deployment = new Deployment(core);
        sessions = new Sessions(this, s.sessions);
        deployment.divided = sessions::divide;
        ends = new Ends(core);
        Connecting.warnOfEnd(nc.getOptions());
        core.loop.execute(() -> {
            core.sender.open();
            deployment.find();
        });
        core.loop.start();
    }

    /** Logs what a client reports once. */
    void logOnce(String text) {
        if (!logged) {
            logged = true;
            Loop.LOG.log(System.Logger.Level.INFO, text);
        }
    }

    /** Returns the secret of new leases; null if the deployment may refuse one. */
    byte @Nullable [] secret() {
        return deployment.has("secrets") ? secret : null;
    }

    /** Returns the lease of a message. */
    private static Id idOf(Message lease) {
        return new Id(lease.text("resource"), lease.number("token"));
    }

    /** Releases a lease in the background, unless it is held here, or not of this owner. Returns whether it does. */
    boolean giveBack(Message lease) {
        Id id = idOf(lease);
        if (!isLeft(lease)) {
            return false;
        }
        leaving.begin(id);
        Message message = core.message(secret()).with("token", id.token);
        CompletableFuture<Answer> release =
                core.releaseLater(Key.encode(id.name), message, Clock.ofMillis(lease.number("ttl_ms")));
        if (release == null) {
            leaving.over(id);
        } else {
            release.whenComplete((a, error) -> leaving.over(id));
        }
        return true;
    }

    /** Returns whether a lease is of this owner, is not held here, and is not known to end. */
    private boolean isLeft(Message lease) {
        Id id = idOf(lease);
        if (held.containsKey(id) || !lease.text("owner").equals(core.owner)) { // mutant: JavaSecondGrantGivenBack
            return false;
        }
        return !losses.containsKey(id) && !leaving.has(id);
    }

    /** Remembers a lease that was lost. */
    void lost(Id id) {
        losses.put(id, true);
    }

    /** Releases all locks, ends all calls, and waits for what goes on, no longer than the timeout. */
    public CompletableFuture<Void> close() {
        CompletableFuture<Void> present = closing;
        if (present == null) {
            present = end();
            closing = present;
        }
        return present;
    }

    private CompletableFuture<Void> end() {
        long until = Clock.now() + core.timeout;
        deployment.close();
        core.close();
        List.copyOf(held.values()).forEach(Handle::interrupt);
        core.spawn(releaseAll(), new Cancellation());
        ends.close();
        CompletableFuture<Void> interrupted = new CompletableFuture<>();
        core.loop.execute(() -> interrupted.complete(null)); // calls that end have begun to withdraw their requests by then
        return interrupted.thenCompose(v -> core.end(until)).thenAccept(inTime -> {
            List.copyOf(held.values()).forEach(Handle::detach);
            core.sender.close();
            core.loop.end(); // the threads for callbacks end by themselves when they have nothing to do
            if (!inTime) {
                throw new UnknownOutcomeException(
                        "not everything was answered in time; locks and places in queues that are left run out",
                        "close", "", null);
            }
        });
    }

    private CompletableFuture<Void> releaseAll() {
        // An error: it was lost, or goes on to be released until it runs out.
        CompletableFuture<?>[] releases = List.copyOf(held.values()).stream()
                .map(handle -> handle.release().handle((v, error) -> null))
                .toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(releases).thenRun(() -> sessions.all().forEach(Session::close));
    }

    /** Takes in a lease that was granted in an answer that is not expected any more. */
    void orphaned(Message lease) {
        if (!isLeft(lease)) { // at first, for it is quick: under load many answers come twice
            return;
        }
        // An answer may come twice, and the second time before a call has looked at the first.
        Id id = idOf(lease);
        if (core.exchanges.stream().anyMatch(x -> x.has(id.name, id.token))) {
            return;
        }
        giveBack(lease);
        core.exchanges.forEach(x -> x.givenBack.add(id.token));
    }

    /** Takes in a message on the subject for notices; it may be anything. */
    void noticed(Message notice) {
        try {
            Handle handle = held.get(idOf(notice)); // mutant: JavaNoticeOfAnyLease
            if (handle != null) {
                handle.noticed(notice.number("waiting"), notice.flag("ended"));
            }
        } catch (IllegalArgumentException e) {
            // Others may be permitted to publish there.
        }
    }

    /** The answer to a keep has the names of resources only. */
    void wanted(List<String> names) {
        for (Handle handle : List.copyOf(held.values())) {
            if (names.contains(handle.name)) {
                handle.want(0);
            }
        }
    }

    /** Notes that the connection is there again after an interruption, or off. */
    void reconnected() {
        core.reconnected();
        if (core.sender.off) {
            return;
        }
        List.copyOf(held.values()).forEach(Handle::reconnected);
        sessions.reconnected();
        ends.reconnected();
    }

    /** Fails with InvalidException if the deployment is known not to have a feature. */
    public CompletableFuture<Void> need(String feature, String operation, String resource) {
        return deployment.need(feature, "upgrade all nodes", operation, resource);
    }
}
