package io.github.holdfastio.holdfast.junit;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfastio.holdfast.Holdfast;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What becomes of requests in protobuf. */
final class Faults {
    private static final Pattern REQUEST = Pattern.compile(
            "holdfast\\.(?:shard\\.[0-9-]+\\.)?(acquire|extend|keep|batch)(?:\\.(.*))?", Pattern.DOTALL);

    // Numbers of fields of the contract.
    private static final int CALLS = 1;
    private static final int KEY = 2;
    private static final Map<Integer, String> OPERATIONS = Map.of(3, "acquire", 5, "extend", 9, "keep");
    private static final int EXTEND_TOKEN = 2;
    private static final int EXTEND_SESSION = 6;

    /** A lease, by the key of its resource. */
    private record Lease(String key, long token) {}

    /** What is passed on, after so long. */
    record Part(Duration after, byte[] payload) {}

    private final Set<Lease> dropped = new HashSet<>();
    private final Map<Lease, String> sessions = new HashMap<>();
    private Duration delay = Duration.ZERO;

    /** Has the renewals of a lease lost from now on. */
    synchronized void drop(String key, long token) {
        dropped.add(new Lease(key, token));
    }

    synchronized void delay(Duration value) {
        delay = value;
    }

    /** Returns what is passed on of a message. */
    synchronized List<Part> judge(String subject, byte[] payload) {
        Matcher request = REQUEST.matcher(subject);
        if (!request.matches() || payload.length > 0 && payload[0] == '{') {
            return List.of(new Part(Duration.ZERO, payload));
        }
        String key = request.group(2) == null ? "" : request.group(2);
        return switch (request.group(1)) {
            case "batch" -> batch(payload);
            case "acquire" -> List.of(new Part(delay, payload));
            default -> isLost(request.group(1), key, payload) ? List.of() : List.of(new Part(Duration.ZERO, payload));
        };
    }

    /** Divides a batch into the calls that are passed on now, and those that are later. */
    private List<Part> batch(byte[] payload) {
        ByteArrayOutputStream now = new ByteArrayOutputStream();
        ByteArrayOutputStream later = new ByteArrayOutputStream();
        for (Field call : Field.of(payload)) {
            List<Field> fields = call.number() == CALLS ? Field.of(call.bytes()) : List.of();
            String key = fields.stream()
                    .filter(field -> field.number() == KEY)
                    .map(field -> new String(field.bytes(), UTF_8))
                    .findFirst()
                    .orElse("");
            Field request = fields.stream()
                    .filter(field -> OPERATIONS.containsKey(field.number()))
                    .findFirst()
                    .orElse(call);
            String operation = OPERATIONS.getOrDefault(request == call ? 0 : request.number(), "");
            if (operation.equals("acquire")) {
                later.writeBytes(call.whole());
            } else if (!isLost(operation, key, request.bytes())) {
                now.writeBytes(call.whole());
            }
        }
        if (delay.isZero()) { // in one message, as the client sent it
            now.writeBytes(later.toByteArray());
            later.reset();
        }
        return List.of(new Part(Duration.ZERO, now.toByteArray()), new Part(delay, later.toByteArray())).stream()
                .filter(part -> part.payload().length > 0)
                .toList();
    }

    /** Reports if a request renews a lease whose renewals are lost: by itself, or with its session. */
    private boolean isLost(String operation, String key, byte[] payload) {
        if (operation.equals("keep")) {
            return ends(key);
        }
        if (!operation.equals("extend")) {
            return false;
        }
        long token = 0;
        String session = "";
        for (Field field : Field.of(payload)) {
            if (field.number() == EXTEND_TOKEN) {
                token = field.value();
            } else if (field.number() == EXTEND_SESSION) {
                session = Holdfast.encodeKey(new String(field.bytes(), UTF_8));
            }
        }
        Lease lease = new Lease(key, token);
        sessions.put(lease, session);
        return dropped.contains(lease) || ends(session);
    }

    private boolean ends(String session) {
        return !session.isEmpty() && dropped.stream().anyMatch(lease -> session.equals(sessions.get(lease)));
    }
}
