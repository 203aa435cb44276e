package io.github.holdfastio.holdfast.internal;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of a client: at most one for each shard and TTL. A single lock has one only for notices, and if it is to
 * end with the connection.
 */
final class Sessions {
    /** For how many lengths of leases a client has sessions. */
    private static final int MAX_TTLS = 16;

    /** For how long the client may not be connected, after which its leases may end; 0: without a bound. */
    final long disconnect;

    private final Core core;
    private final Deployment deployment;
    private final Map<Handles.Id, Handle> held;
    private final Consumer<List<String>> wanted;
    private final boolean enabled;
    private final Rights rights = new Rights();
    private final Map<Session.Terms, Session> current = new HashMap<>();

    /** Has no session yet. Wanted receives the resources for which others wait; without enabled there is never one. */
    Sessions(
            Core core,
            Deployment deployment,
            Map<Handles.Id, Handle> held,
            Consumer<List<String>> wanted,
            boolean enabled,
            long disconnect) {
        this.core = core;
        this.deployment = deployment;
        this.held = held;
        this.wanted = wanted;
        this.enabled = enabled;
        this.disconnect = disconnect;
    }

    /**
     * Returns the session that an extension of a lease is to name; null: none. With notices it learns that others wait
     * for the lease, and a single lock has a session, too.
     */
    @Nullable Session of(String key, long ttl, byte @Nullable [] secret, boolean notices) {
        boolean listens = notices && deployment.has("notices");
        boolean few = held.size() < 2 && !listens && disconnect == 0;
        if (!enabled || few || !deployment.has("sessions") || rights.refused()) {
            return null;
        }
        Session.Terms terms = new Session.Terms(core.sender.router.shard(key), ttl, secret != null);
        Session session = current.get(terms);
        if (session == null && hasRoom(ttl)) {
            byte[] keepSecret = deployment.has("keep_secret") ? secret : null;
            session = new Session(core, rights, terms, keepSecret, this::drop, disconnect);
            current.put(terms, session);
        }
        if (session != null && listens) {
            // Through a service import, where there are no batches, the service cannot reach the subject.
            session.listen(wanted, deployment.has("batch") ? core.sender.notices : "");
        }
        return session;
    }

    private boolean hasRoom(long ttl) {
        return current.size() < MAX_TTLS
                || current.keySet().stream().map(Session.Terms::ttl).filter(other -> other != ttl).distinct().count()
                        < MAX_TTLS;
    }

    /** Returns the sessions that are not over. */
    List<Session> all() {
        return List.copyOf(current.values());
    }

    /**
     * Lets the sessions run out that the lease of a key may be in, because it could not be given back. Their other
     * leases move to new sessions.
     */
    void forsake(String key) {
        String shard = core.sender.router.shard(key);
        for (Session session : all()) {
            if (session.terms.shard().equals(shard)) {
                session.close();
            }
        }
    }

    /**
     * Closes all sessions, because there are other shards: the leases of one are spread over several. Each moves with
     * its next extension, which is soon, into the session of its present shard.
     */
    void divide() {
        all().forEach(Session::close);
    }

    /** Begins no session for a time. */
    void refuse() {
        rights.refuse();
    }

    /** Sends again at once what may have been lost with the last connection. */
    void reconnected() {
        all().forEach(Session::reconnected);
    }

    private void drop(Session session) {
        current.remove(session.terms, session);
    }
}
