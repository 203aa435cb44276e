package io.github.holdfastio.holdfast.internal;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Whether requests are sent in batches.
 *
 * <p>A user may lack the permission to send them, which a client notices late or not at all. So a batch of an empty call
 * is tried, and others follow its answer.
 */
final class Batching {
    private static final int MAX_CALLS = 1000;
    /**
     * The pauses between trials of whether the service takes batches of this user. A user without the permission causes
     * an error of the connection with each.
     */
    private static final long FIRST_TRIAL = Clock.SECOND;

    private static final long MAX_TRIAL = 3600 * Clock.SECOND;

    /** The deployment takes batches. */
    boolean offered;
    private boolean proved;
    /** When the next trial may be, and how long that is after the last one without an answer on this connection. */
    private long next;

    private long pause;

    /** Notes that a batch was answered. */
    void prove() {
        proved = true;
        pause = 0;
    }

    /** Makes another trial necessary; anew: at once, since the connection is another one. */
    void tryAgain(boolean anew) {
        proved = false;
        if (anew) {
            next = 0;
            pause = 0;
        }
    }

    boolean may() {
        return offered && proved;
    }

    /** Returns whether a batch is to be tried now. The next trial is then after a pause. */
    boolean mustTry() {
        long now = Clock.now();
        if (!offered || proved || now < next) {
            return false;
        }
        pause = Math.min(Math.max(2 * pause, FIRST_TRIAL), MAX_TRIAL);
        next = now + pause;
        return true;
    }

    /**
     * Returns the attempts as groups, each for one message. Those to the owner of one shard go together, in their order.
     * Those to any node go alone.
     */
    static List<List<Attempt>> bundle(List<Attempt> queue) {
        List<List<Attempt>> groups = new ArrayList<>();
        Map<String, List<Attempt>> open = new HashMap<>();
        for (Attempt attempt : queue) {
            String shard = attempt.route.shard();
            List<Attempt> group = open.get(shard);
            if (group == null || group.size() == MAX_CALLS) {
                group = new ArrayList<>();
                groups.add(group);
                if (attempt.route.direct()) {
                    open.put(shard, group);
                }
            }
            group.add(attempt);
        }
        return groups;
    }

    static byte[] encode(List<Attempt> calls) {
        Writer writer = new Writer();
        for (Attempt call : calls) {
            writer.call(call.id, call.route.key(), call.route.operation(), call.payload);
        }
        return writer.take();
    }
}
