package io.github.holdfastio.holdfast.internal;

import io.nats.client.Subscription;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Events that say that a lease of this client has ended: a subscription for each lease. */
final class Ends {
    /** Bounds the subscriptions of a client. Further leases rely on their renewals. */
    private static final int MAX_SUBSCRIBED = 1000;

    private static final Set<String> KINDS = Set.of("RELEASED", "EXPIRED", "BROKEN");

    private final Core core;
    private final Map<Hints, @Nullable Subscription> followers = new LinkedHashMap<>();
    /**
     * NATS reports a refusal to the error listener of the application, so the first subscription is tried alone: a user
     * without the right gets one error, and not one for each lock. Null: none was tried.
     */
    private @Nullable CompletableFuture<Void> proof;

    private boolean refused;

    Ends(Core core) {
        this.core = core;
    }

    /** Subscribes to the ends of the leases of a key. Returns false if the client does not. */
    boolean add(Hints follower) {
        if (refused || followers.size() >= MAX_SUBSCRIBED || core.closed) {
            return false;
        }
        followers.put(follower, null);
        CompletableFuture<Void> tried = proof;
        if (tried == null) {
            subscribe(follower);
            tried = core.roundTrip().thenAccept(this::prove);
            proof = tried;
        }
        tried.thenRun(() -> {
            if (followers.containsKey(follower)) {
                subscribe(follower);
                follower.subscribed();
            }
        });
        return true;
    }

    /** Unsubscribes. */
    void remove(Hints follower) {
        core.sender.unsubscribe(followers.remove(follower));
    }

    /** Looks at every lease, since events may have been missed. */
    void reconnected() {
        List.copyOf(followers.keySet()).forEach(Hints::subscribed);
    }

    /** Removes all subscriptions. */
    void close() {
        List.copyOf(followers.keySet()).forEach(this::remove);
    }

    private void subscribe(Hints follower) {
        String subject = core.events + follower.lease.key;
        followers.computeIfAbsent(follower, f -> core.sender.subscribe(subject, m -> received(m, f)));
    }

    private void received(io.nats.client.Message m, Hints follower) {
        if (!m.hasHeaders() || !followers.containsKey(follower)) {
            return;
        }
        String kind = m.getHeaders().getFirst("Holdfast-Event");
        String token = m.getHeaders().getFirst("Fencing-Token");
        if (kind != null && KINDS.contains(kind) && token != null && token.matches("[0-9]{1,18}")) {
            follower.received(Long.parseLong(token));
        }
    }

    private void prove(boolean isDone) {
        if (!isDone) {
            proof = null;
        }
        if (Denials.subject(core.nc.getLastError()).startsWith(core.events.toLowerCase(Locale.ROOT))) {
            refused = true;
            close();
        }
    }
}
