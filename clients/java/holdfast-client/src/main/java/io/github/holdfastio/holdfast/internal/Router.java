package io.github.holdfastio.holdfast.internal;

/** Chooses between the direct subject, of the owner of a shard, and the front subject, of any node. */
final class Router {
    /**
     * How long direct subjects are avoided after one did not answer where any other node did. It doubles each time that
     * happens again, until a direct subject answers.
     */
    private static final long MIN_DETOUR = Clock.SECOND;

    private static final long MAX_DETOUR = 30 * Clock.SECOND;

    final String prefix;
    /** The number of shards; 0: it is not known, so all routes are to any node. */
    private long shards;

    private long generation;
    private long until;
    private long length;

    Router(String prefix) {
        this.prefix = prefix;
    }

    void setShards(long number, long of) {
        shards = number;
        generation = of;
    }

    /** Returns the shard of a key as it stands in subjects. How many there are must be known. */
    String shard(String key) {
        String number = Long.toString(Key.shard(key, shards));
        return generation == 0 ? number : generation + "-" + number;
    }

    /**
     * Returns whether the generation in an answer is another one than the known one, so that shards may be others.
     * Anybody who can answer may have made it up. Empty: the answer has none.
     */
    boolean isOld(String present) {
        return !present.isEmpty() && shards > 0 && !present.equals(Long.toString(generation));
    }

    /** Returns where the nth attempt of a request goes, counted from 0. */
    Route route(String operation, String key, int n) {
        return route(operation, key, n, "");
    }

    /**
     * Returns where the nth attempt goes of a request for a shard; empty: that of the key. Every other attempt goes to
     * any node, which may be permitted to a user who may not use the direct subjects.
     */
    Route route(String operation, String key, int n, String shard) {
        if (key.isEmpty() || shards == 0 || n % 2 == 1 || (until > 0 && Clock.now() < until)) {
            return new Route(operation, key, "");
        }
        return new Route(operation, key, shard.isEmpty() ? shard(key) : shard);
    }

    /** Returns the subject of an attempt that is sent alone. */
    String subject(Route route) {
        if (route.key().isEmpty()) {
            return prefix + "." + route.operation();
        }
        String shard = route.direct() ? ".shard." + route.shard() : "";
        return prefix + shard + "." + route.operation() + "." + route.key();
    }

    /** Returns the subject of batches for a shard. */
    String batch(String shard) {
        return prefix + ".shard." + shard + ".batch";
    }

    /** Avoids direct subjects for a time, because another node has answered where they did not. */
    void avoid() {
        long now = Clock.now();
        if (now >= until) {
            length = Math.min(Math.max(2 * length, MIN_DETOUR), MAX_DETOUR);
            until = now + length;
        }
    }

    /** Notes that a direct subject has answered. */
    void proven() {
        until = 0;
        length = 0;
    }
}
