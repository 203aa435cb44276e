package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import java.util.List;
import java.util.Set;

/** The answer to one attempt, or why it has none. */
final class Answer {
    // These stand in the place of the status of an answer that is none.
    static final String NOT_SENT = "not sent";
    static final String DENIED = "denied";
    static final String NO_RESPONDERS = "no responders";
    static final String GARBLED = "garbled";

    /** The answers that have a lease of the sender. */
    private static final Set<String> OWN = Set.of("GRANTED", "EXTENDED", "UPDATED");

    /** The number of the attempt. */
    final long id;
    /** When it was sent. */
    final long sent;
    /** It took the direct route. */
    final boolean direct;
    /** That of the reply, or one of the above; empty for a reply that has none, as of info. */
    final String status;

    final Message reply;
    /** No other attempt of the request may have had an effect. */
    boolean alone = true;

    Answer(long id, long sent, boolean direct, Message reply) {
        this.id = id;
        this.sent = sent;
        this.direct = direct;
        this.reply = reply;
        status = reply.statusOr(GARBLED);
    }

    /** Returns what stands in the place of a reply. */
    static Message none(String status) {
        return new Message().with("status", status);
    }

    Message lease() {
        return reply.message("lease");
    }

    long token() {
        return lease().number("token");
    }

    /** Returns how much was left of the lease. */
    long remaining() {
        return Clock.ofMillis(lease().number("remaining_ms"));
    }

    /** Returns how many tokens the lease has. */
    long tokens() {
        return Math.max(lease().number("tokens"), 1);
    }

    /** Returns the error of the reply, or another text if it has none. */
    String error(String otherwise) {
        String error = reply.text("error");
        return error.isEmpty() ? otherwise : error;
    }

    boolean is(String... statuses) {
        return List.of(statuses).contains(status);
    }

    /**
     * Returns whether the reply can be that to a request of an owner about the resource of this key. Others may be
     * permitted to publish to the subject of the reply. Malformed leases do not fit.
     */
    boolean isAbout(String key, String owner) {
        try {
            Message lease = lease();
            if (reply.has("lease") && !isOf(lease, key)) {
                return false;
            }
            if (OWN.contains(status)) {
                return lease.text("owner").equals(owner) && lease.number("token") > 0;
            }
            return reply.messages("holders").stream().allMatch(holder -> isOf(holder, key));
        } catch (IllegalArgumentException | HoldfastException e) {
            return false;
        }
    }

    private static boolean isOf(Message lease, String key) {
        String name = lease.text("resource");
        // Most keys are the name itself. A name with this character is not its own key.
        return name.indexOf('=') < 0 && name.equals(key) || Key.encode(name).equals(key);
    }
}
