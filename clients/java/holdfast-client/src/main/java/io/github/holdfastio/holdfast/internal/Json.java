package io.github.holdfastio.holdfast.internal;

import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;

/** Reads JSON: events, and the answers to requests without fields. */
final class Json {
    private static final int MAX_DEPTH = 32;
    private static final int MAX_DIGITS = 20;

    private Json() {}

    /** Returns an object. Throws IllegalArgumentException if the bytes are none. */
    static Message parse(byte[] bytes) {
        check(bytes);
        try {
            return message(JsonParser.parse(bytes));
        } catch (JsonParseException | RuntimeException e) { // it looks for an end behind the end
            throw new IllegalArgumentException("malformed JSON", e);
        }
    }

    /** The parser calls itself for each level, needs long for a long number, and passes over what is behind the object. */
    private static void check(byte[] bytes) {
        int depth = 0;
        int digits = 0;
        boolean isText = false;
        for (int i = 0; i < bytes.length; i++) {
            byte b = bytes[i];
            digits = b >= '0' && b <= '9' && !isText ? digits + 1 : 0;
            if (b == '"') {
                isText = !isText;
            } else if (isText) {
                i += b == '\\' ? 1 : 0;
            } else if (b == '{' || b == '[') {
                depth++;
            } else if (b == '}' || b == ']') {
                depth--;
            }
            boolean isBehind = depth == 0 && b != '}' && !Character.isWhitespace(b);
            if (depth < 0 || depth > MAX_DEPTH || digits > MAX_DIGITS || isBehind) {
                throw new IllegalArgumentException("malformed JSON at " + i);
            }
        }
    }

    private static Message message(JsonValue object) {
        if (object.map == null) {
            throw new IllegalArgumentException("no object");
        }
        Message message = new Message();
        object.map.forEach((name, value) -> message.with(name, value(value)));
        return message;
    }

    private static Object value(JsonValue value) {
        return switch (value.type) {
            case MAP -> message(value);
            case ARRAY -> value.array.stream().map(Json::value).toList();
            case INTEGER, LONG -> value.number.longValue();
            default -> value.object;
        };
    }
}
