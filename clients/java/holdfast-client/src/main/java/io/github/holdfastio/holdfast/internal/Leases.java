package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.Event;
import io.github.holdfastio.holdfast.EventKind;
import io.github.holdfastio.holdfast.HeldBack;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.LockState;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Leases, the state of a resource and events, as the service shows them. */
final class Leases {
    private Leases() {}

    static Lease parse(Message m) {
        long acquired = m.number("acquired_at_ms");
        return new Lease(
                m.text("resource"),
                m.text("owner"),
                m.number("token"),
                m.text("fence"),
                millis(m, "ttl_ms"),
                millis(m, "remaining_ms"),
                acquired == 0 ? null : Instant.ofEpochMilli(acquired),
                m.text("durability").equals("EPHEMERAL"),
                Map.copyOf(m.map("metadata")),
                m.number("limit"),
                m.numbers("slots"),
                m.text("session"));
    }

    /** Returns the lost lease of a listing, which has what is left of the delay in the place of what remains. */
    static HeldBack heldBack(Message m) {
        return new HeldBack(parse(m.copy().without("remaining_ms")), millis(m, "remaining_ms"));
    }

    static LockState state(String name, Answer a) {
        List<Message> holders = a.reply.messages("holders");
        if (a.is("HELD") && holders.isEmpty()) { // of a service without shared leases
            holders = List.of(a.lease());
        }
        return new LockState(
                name,
                holders.stream().map(Leases::parse).toList(),
                a.reply.has("held") ? a.reply.number("held") : holders.size(),
                a.reply.number("waiting"),
                a.is("FREE") ? a.token() : 0,
                Failures.heldBack(a));
    }

    static Event event(Message m) {
        String kind = m.text("kind");
        return new Event(
                kind.isEmpty() ? EventKind.ACQUIRED : EventKind.valueOf(kind),
                parse(m.message("lease")),
                m.number("shard"),
                m.number("position"),
                m.number("index"),
                Instant.ofEpochMilli(m.number("at_ms")),
                m.text("reason"),
                m.flag("held_back"),
                millis(m, "resting_ms"));
    }

    static Duration millis(Message m, String name) {
        return Clock.duration(Clock.ofMillis(m.number(name)));
    }
}
