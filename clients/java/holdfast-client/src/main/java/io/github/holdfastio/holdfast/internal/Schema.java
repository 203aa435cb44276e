package io.github.holdfastio.holdfast.internal;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fields of a message of the contract. */
final class Schema {
    /** What the value of a field is. */
    enum Kind {
        TEXT,
        BYTES,
        NUMBER,
        FLAG,
        NAME,
        MAP,
        MESSAGE;

        boolean isVarint() {
            return this == NUMBER || this == FLAG || this == NAME;
        }
    }

    /**
     * A field.
     *
     * @param schema of a message
     * @param names those of an enumeration
     */
    record Field(
            String name, int number, Kind kind, boolean repeated, Schema schema, List<String> names) {}

    private static final Schema NONE = new Schema();
    private static final List<String> DURABILITY = List.of("PERSISTENT", "EPHEMERAL");
    private static final List<String> STATUSES = List.of(
            "", "GRANTED", "HELD", "TIMEOUT", "CANCELLED", "EXTENDED", "RELEASED", "EXPIRED", "NOT_HELD", "NOT_OWNER",
            "STALE_TOKEN", "FREE", "INVALID", "OVERLOADED", "UNAVAILABLE", "EXHAUSTED", "HELD_BACK", "UPDATED");
    private static final List<String> RANKINGS = List.of("", "QUEUE", "WAIT", "HOLD");

    static final Schema ENTRY = new Schema().text("key", 1).text("value", 2);
    private static final Schema LEASE = new Schema()
            .text("resource", 1).text("owner", 2).number("token", 3).text("fence", 4).number("ttl_ms", 5)
            .number("remaining_ms", 6).number("acquired_at_ms", 7).name("durability", 8, DURABILITY).map("metadata", 9)
            .number("limit", 10).numbers("slots", 11).text("session", 12).number("tokens", 15);
    static final Schema REPLY = new Schema()
            .name("status", 1, STATUSES).message("lease", 2, LEASE, false).number("waiting", 3).text("error", 4)
            .message("holders", 5, LEASE, true).number("held", 6).number("left_ms", 8).number("losses", 9)
            .number("order", 11).flag("lasting", 12).texts("wanted", 13);
    static final Schema BATCH_REPLY = new Schema()
            .message("answers", 1, new Schema().number("id", 1).message("reply", 2, REPLY, false), true);
    static final Schema NOTICE =
            new Schema().text("resource", 1).number("token", 2).number("waiting", 3).flag("ended", 4);
    private static final Schema QUEUE =
            new Schema().text("resource", 1).number("waiting", 4).number("oldest_ms", 5);
    static final Schema LIST_REPLY =
            new Schema().message("leases", 1, LEASE, true).text("next", 2).message("queues", 3, QUEUE, true);

    private static final Map<String, Schema> REQUESTS = Map.of(
            "acquire", new Schema()
                    .text("owner", 1).number("ttl_ms", 2).number("wait_ms", 3).text("request_id", 4)
                    .name("durability", 5, DURABILITY).flag("reentrant", 6).map("metadata", 7).number("limit", 8)
                    .number("permits", 9).number("delay_ms", 10).flag("confirm", 11).bytes("secret_hash", 13)
                    .bytes("secret", 14).number("tokens", 15).number("min_hold_ms", 17),
            "release", new Schema().text("owner", 1).number("token", 2).text("request_id", 3).bytes("secret", 4),
            "extend", new Schema()
                    .text("owner", 1).number("token", 2).number("ttl_ms", 3).bytes("secret", 5).text("session", 6)
                    .number("order", 7).number("tokens", 8),
            "get", new Schema().flag("stale", 1),
            "break", new Schema().number("token", 1).text("reason", 2),
            "confirm", new Schema().number("token", 1).text("by", 2).text("how", 3),
            "keep", new Schema()
                    .number("ttl_ms", 1).text("alive", 2).number("disconnect_ms", 3).flag("notices", 4)
                    .bytes("secret", 5),
            "set", new Schema()
                    .text("owner", 1).number("token", 2).map("metadata", 3).bytes("secret", 4).number("order", 5),
            "list", new Schema()
                    .text("pattern", 1).number("limit", 2).text("after", 3).flag("held_back", 5)
                    .name("by", 7, RANKINGS),
            "info", new Schema());

    /** The numbers that requests have in a call of a batch. */
    private static final Map<String, Integer> CALLS = Map.of(
            "acquire", 3, "release", 4, "extend", 5, "get", 6, "break", 7, "confirm", 8, "keep", 9, "set", 11);

    private final Map<String, Field> named = new HashMap<>();
    private final Map<Integer, Field> numbered = new HashMap<>();

    static Schema request(String operation) {
        return known(REQUESTS.get(operation));
    }

    static int call(String operation) {
        return known(CALLS.get(operation));
    }

    Field named(String name) {
        return known(named.get(name));
    }

    @Nullable Field numbered(int number) {
        return numbered.get(number);
    }

    private static <T> T known(@Nullable T what) {
        if (what == null) {
            throw new IllegalArgumentException("the contract does not have it");
        }
        return what;
    }

    private Schema text(String name, int number) {
        return add(name, number, Kind.TEXT, false, NONE, List.of());
    }

    private Schema texts(String name, int number) {
        return add(name, number, Kind.TEXT, true, NONE, List.of());
    }

    private Schema bytes(String name, int number) {
        return add(name, number, Kind.BYTES, false, NONE, List.of());
    }

    private Schema number(String name, int number) {
        return add(name, number, Kind.NUMBER, false, NONE, List.of());
    }

    private Schema numbers(String name, int number) {
        return add(name, number, Kind.NUMBER, true, NONE, List.of());
    }

    private Schema flag(String name, int number) {
        return add(name, number, Kind.FLAG, false, NONE, List.of());
    }

    private Schema name(String name, int number, List<String> names) {
        return add(name, number, Kind.NAME, false, NONE, names);
    }

    private Schema map(String name, int number) {
        return add(name, number, Kind.MAP, false, ENTRY, List.of());
    }

    private Schema message(String name, int number, Schema schema, boolean repeated) {
        return add(name, number, Kind.MESSAGE, repeated, schema, List.of());
    }

    private Schema add(
            String name, int number, Kind kind, boolean repeated, Schema schema, List<String> names) {
        Field field = new Field(name, number, kind, repeated, schema, names);
        named.put(name, field);
        numbered.put(number, field);
        return this;
    }
}
