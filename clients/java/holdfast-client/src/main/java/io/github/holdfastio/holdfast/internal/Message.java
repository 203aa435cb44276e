package io.github.holdfastio.holdfast.internal;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A message of the contract: its fields by their names. A field that is not there has its zero value. Numbers are Long,
 * enumerations their names. Reading a field as another type throws IllegalArgumentException.
 */
final class Message {
    private static final Set<Object> ZEROS = Set.of(0L, false, "", Map.of());

    private final Map<String, Object> fields = new LinkedHashMap<>();

    /** Sets a field, unless the value is null or the zero value, which is the same, and returns this message. */
    Message with(String name, @Nullable Object value) {
        if (value != null && !ZEROS.contains(value)) {
            fields.put(name, value);
        }
        return this;
    }

    Message with(String name, long value) {
        return with(name, (Object) value);
    }

    Message without(String name) {
        fields.remove(name);
        return this;
    }

    Message copy() {
        Message copy = new Message();
        copy.fields.putAll(fields);
        return copy;
    }

    Map<String, Object> fields() {
        return fields;
    }

    boolean has(String name) {
        return fields.containsKey(name);
    }

    String text(String name) {
        return as(String.class, fields.getOrDefault(name, ""));
    }

    /** Returns the status, or another text if what is there is none. */
    String statusOr(String otherwise) {
        return fields.getOrDefault("status", "") instanceof String status ? status : otherwise;
    }

    /** Returns a number, which JSON may have as text. */
    long number(String name) {
        Object value = fields.getOrDefault(name, 0L);
        return value instanceof String text ? Long.parseLong(text) : as(Long.class, value);
    }

    boolean flag(String name) {
        return as(Boolean.class, fields.getOrDefault(name, false));
    }

    Message message(String name) {
        return as(Message.class, fields.getOrDefault(name, EMPTY));
    }

    List<Message> messages(String name) {
        return list(Message.class, name);
    }

    List<String> texts(String name) {
        return list(String.class, name);
    }

    List<Integer> numbers(String name) {
        return list(Long.class, name).stream().map(Long::intValue).toList();
    }

    Map<String, String> map(String name) {
        Map<String, String> copy = new LinkedHashMap<>();
        Object value = fields.getOrDefault(name, Map.of());
        Map<?, ?> map = value instanceof Message message ? message.fields : as(Map.class, value);
        map.forEach((key, text) -> copy.put(as(String.class, key), as(String.class, text)));
        return copy;
    }

    private static final Message EMPTY = new Message();

    private <T> List<T> list(Class<T> type, String name) {
        List<?> values = as(List.class, fields.getOrDefault(name, List.of()));
        return values.stream().map(value -> as(type, value)).toList();
    }

    private static <T> T as(Class<T> type, Object value) {
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException("a field has another type");
        }
        return type.cast(value);
    }
}
