package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HeldBack;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.LockState;
import io.github.holdfastio.holdfast.WaitQueue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** What is asked of the service, or ended, that may be another client's. */
public final class Queries {
    /** How many entries a page of a listing, or a ranking, has at most. */
    private static final int PAGE = 1000;

    private final Handles handles;
    private final Core core;

    public Queries(Handles handles) {
        this.handles = handles;
        core = handles.core;
    }

    public CompletableFuture<LockState> get(String name, Cancellation cancellation) {
        String normal = Key.normalize(name);
        return core.call("get", name, Key.encode(name), new Message(), cancellation).thenApply(a -> {
            if (!a.is("HELD", "FREE", "HELD_BACK")) {
                throw Failures.refused("get", name, a);
            }
            return Leases.state(normal, a);
        });
    }

    public CompletableFuture<List<Lease>> list(String pattern, Cancellation cancellation) {
        return listed(pattern, new Message(), cancellation)
                .thenApply(all -> all.stream().map(Leases::parse).toList());
    }

    public CompletableFuture<List<HeldBack>> lost(String pattern, Cancellation cancellation) {
        core.check("list", "");
        return handles.need("delay", "list", "")
                .thenCompose(v -> listed(pattern, new Message().with("held_back", true), cancellation))
                .thenApply(all -> all.stream().map(Leases::heldBack).toList());
    }

    public CompletableFuture<Void> breakLock(String name, long token, String reason, Cancellation cancellation) {
        return end("break", name, new Message().with("token", token).with("reason", reason), cancellation);
    }

    public CompletableFuture<Void> confirm(
            String name, long token, String by, String how, Cancellation cancellation) {
        core.check("confirm", name);
        Message message = new Message().with("token", token).with("by", by).with("how", how);
        return handles.need("delay", "confirm", name).thenCompose(v -> end("confirm", name, message, cancellation));
    }

    public CompletableFuture<List<WaitQueue>> queues(
            String by, String pattern, int limit, Cancellation cancellation) {
        return top(by, pattern, limit, cancellation).thenApply(reply -> {
            Map<String, Lease> holders = new HashMap<>();
            reply.messages("leases").forEach(m -> holders.put(m.text("resource"), Leases.parse(m)));
            return reply.messages("queues").stream()
                    .map(q -> new WaitQueue(
                            q.text("resource"),
                            q.number("waiting"),
                            Leases.millis(q, "oldest_ms"),
                            holders.get(q.text("resource"))))
                    .toList();
        });
    }

    public CompletableFuture<List<Lease>> holds(String pattern, int limit, Cancellation cancellation) {
        return top("HOLD", pattern, limit, cancellation)
                .thenApply(reply -> reply.messages("leases").stream().map(Leases::parse).toList());
    }

    private CompletableFuture<Void> end(String operation, String name, Message message, Cancellation cancellation) {
        if (message.number("token") < 0) {
            throw new InvalidException("token must not be negative", operation, name, null);
        }
        return core.call(operation, name, Key.encode(name), message, cancellation).thenAccept(a -> {
            if (!a.is("RELEASED")) {
                throw Failures.refused(operation, name, a);
            }
        });
    }

    private CompletableFuture<Message> top(String by, String pattern, int limit, Cancellation cancellation) {
        core.check("list", "");
        Checks.require(limit >= 1 && limit <= PAGE, "limit must be 1 to " + PAGE + ", is " + limit);
        Message message = selected(pattern, new Message().with("by", by).with("limit", limit));
        return handles.need("ranking", "list", "")
                .thenCompose(v -> core.call("list", "", "", message, cancellation))
                .thenApply(Queries::page);
    }

    private CompletableFuture<List<Message>> listed(String pattern, Message fields, Cancellation cancellation) {
        return nextPage(selected(pattern, fields.with("limit", PAGE)), new ArrayList<>(), cancellation);
    }

    private CompletableFuture<List<Message>> nextPage(
            Message message, List<Message> all, Cancellation cancellation) {
        return core.call("list", "", "", message, cancellation).thenCompose(a -> {
            Message page = page(a);
            all.addAll(page.messages("leases"));
            String next = page.text("next");
            return next.isEmpty() || next.equals(message.text("after"))
                    ? CompletableFuture.completedFuture(all)
                    : nextPage(message.copy().with("after", next), all, cancellation);
        });
    }

    private static Message selected(String pattern, Message message) {
        return pattern.isEmpty() ? message : message.with("pattern", Checks.pattern(pattern, "list"));
    }

    private static Message page(Answer a) {
        if (!a.status.isEmpty()) {
            throw Failures.refused("list", "", a);
        }
        return a.reply;
    }
}
