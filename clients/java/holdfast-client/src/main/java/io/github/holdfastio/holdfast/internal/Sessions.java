package io.github.holdfastio.holdfast.internal;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of a client: at most one for each shard and TTL. A single lock has one only for notices, and if it is to
 * end with the connection.
 */
final class Sessions {
    /** For how many lengths of leases a client has sessions. */
    private static final int MAX_TTLS = 16;

    final Core core;
    final Rights rights = new Rights();
    /** For how long the client may not be connected, after which its leases may end; 0: without a bound. */
    final long disconnect;

    private final Handles parts;
    private final boolean enabled;
    private final Map<Session.Terms, Session> current = new HashMap<>();

    /** Has no session yet; without enabled there is never one. */
    Sessions(Handles parts, boolean enabled) {
        this.parts = parts;
        this.enabled = enabled;
        core = parts.core;
        disconnect = parts.disconnect;
    }

    /**
     * Returns the session that an extension of a lease is to name; null: none. With notices it learns that others wait
     * for the lease, and a single lock has a session, too.
     */
    @Nullable Session of(String key, long ttl, byte @Nullable [] secret, boolean notices) {
        Deployment deployment = parts.deployment;
        boolean listens = notices && deployment.has("notices");
        boolean few = parts.held.size() < 2 && !listens && disconnect == 0;
        if (!enabled || few || !deployment.has("sessions") || rights.refused()) {
            return null;
        }
        Session.Terms terms = new Session.Terms(core.sender.router.shard(key), ttl, secret != null);
        Session session = current.get(terms);
        if (session == null && hasRoom(ttl)) {
            byte[] keepSecret = deployment.has("keep_secret") ? secret : null;
            session = new Session(this, terms, keepSecret);
            current.put(terms, session);
        }
        if (session != null && listens) {
            // Through a service import, where there are no batches, the service cannot reach the subject.
            session.listen(parts::wanted, deployment.has("batch") ? core.sender.notices : "");
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

    /** Sends again at once what may have been lost with the last connection. */
    void reconnected() {
        all().forEach(Session::reconnected);
    }

    /** Forgets a session that is over. */
    void drop(Session session) {
        current.remove(session.terms, session);
    }
}
