package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.InvalidException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** What the service says about itself, as soon as it is known. */
final class Deployment {
    /** How long an answer to info counts as up to date, whatever other answers hint at. */
    private static final long FRESH = 5 * Clock.SECOND;
    /** How long to wait after a request that was not answered. */
    private static final long AGAIN = Clock.SECOND;

    private static final long MAX_WAIT = 3600 * Clock.SECOND;
    private static final long MAX_SHARDS = 0xFFFFFFFFL;

    /** Those of all nodes. */
    Set<String> features = Set.of();
    /** The longest wait that it allows. */
    long maxWait = MAX_WAIT;
    /** The shortest lease that it allows; 0: it is not known. */
    long minTtl;
    /** Is called when there are other shards than before. */
    Runnable divided = () -> {};

    private final Core core;
    private final CompletableFuture<Void> known = new CompletableFuture<>();
    private final Alarm alarm = new Alarm(this::find);
    private final long begun = Clock.now();
    private String version = "";
    private long shards;
    private long generation;
    private long queried;
    private boolean finding;

    Deployment(Core core) {
        this.core = core;
    }

    /** Sends requests until one is answered. */
    void find() {
        finding = true;
        query().thenAccept(isAnswered -> {
            finding = !isAnswered && !core.closed;
            if (finding) {
                core.loop.alarms.set(alarm, Clock.now() + AGAIN);
            }
        });
    }

    /** Sends no more requests. */
    void close() {
        core.loop.alarms.discard(alarm);
    }

    boolean has(String feature) {
        return features.contains(feature);
    }

    /** Ends a little later at the latest: first requests wait for the first answer, so that they need not be forwarded. */
    CompletableFuture<Void> await() {
        long until = begun + Math.min(Pauses.FIRST_RESEND, core.timeout / 2);
        return known.isDone() || Clock.now() >= until ? DONE : core.loop.within(known, until);
    }

    private static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

    /** Sends another request, unless the answer is fresh. */
    void refresh() {
        if (!finding && !core.closed && Clock.now() >= queried + FRESH) {
            find();
        }
    }

    /** Fails with InvalidException if the deployment is known not to have a feature. */
    CompletableFuture<Void> need(String feature, String advice, String operation, String resource) {
        return await().thenCompose(v -> {
            if (!known.isDone() || has(feature)) {
                return DONE;
            }
            return query().thenAccept(isAnswered -> { // its nodes may have been upgraded
                if (!has(feature)) {
                    String text = "the deployment, of version '" + version + "', lacks the feature '" + feature + "': "
                            + advice;
                    throw new InvalidException(text, operation, resource, null);
                }
            });
        });
    }

    private CompletableFuture<Boolean> query() {
        queried = Clock.now();
        Cancellation cancellation = new Cancellation();
        CompletableFuture<Answer> answer =
                core.request(Request.of("info", "", "", new Message()), core.timeout, cancellation);
        return answer.handle((a, error) -> {
            try {
                return error == null && take(a);
            } catch (IllegalArgumentException e) {
                return false;
            }
        });
    }

    private boolean take(Answer a) {
        Message info = a.reply;
        long number = info.number("shards");
        long of = info.number("generation");
        if (!a.status.isEmpty() || number < 1 || number > MAX_SHARDS || of < 0 || of > MAX_SHARDS) {
            return false;
        }
        boolean isNew = number != shards || of != generation;
        shards = number;
        generation = of;
        version = info.text("version");
        // An earlier version refuses what it does not know.
        boolean uniform = info.messages("nodes").stream().allMatch(n -> n.text("version").equals(version));
        features = uniform ? Set.copyOf(info.texts("features")) : Set.of();
        core.sender.router.setShards(shards, generation);
        core.sender.batching.offered = has("batch");
        Message limits = info.message("limits");
        maxWait = limits.has("max_wait_ms") ? Clock.ofMillis(limits.number("max_wait_ms")) : MAX_WAIT;
        minTtl = Clock.ofMillis(limits.number("min_ttl_ms"));
        known.complete(null);
        if (isNew) {
            divided.run();
        }
        return true;
    }
}
