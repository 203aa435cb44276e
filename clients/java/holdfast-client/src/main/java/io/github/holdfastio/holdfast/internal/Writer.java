package io.github.holdfastio.holdfast.internal;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

/** Writes messages in protobuf. */
final class Writer {
    private static final int VARINT = 0;
    private static final int DELIMITED = 2;

    private byte[] bytes = new byte[256];
    private int length;

    /** Returns a request. */
    static byte[] request(String operation, Message message) {
        Writer writer = new Writer();
        writer.message(Schema.request(operation), message);
        return writer.take();
    }

    byte[] take() {
        return Arrays.copyOf(bytes, length);
    }

    /** Appends a call of a batch. */
    void call(long id, String key, String operation, byte[] request) {
        Writer call = new Writer();
        call.tag(1, VARINT);
        call.number(id);
        call.text(2, key);
        call.raw(Schema.call(operation), request);
        raw(1, call.take());
    }

    /** Appends a call that has nothing. */
    void emptyCall() {
        raw(1, new byte[0]);
    }

    private void message(Schema schema, Message message) {
        message.fields().forEach((name, value) -> field(schema.named(name), value));
    }

    private void field(Schema.Field field, Object value) {
        switch (field.kind()) {
            case TEXT -> text(field.number(), (String) value);
            case BYTES -> raw(field.number(), (byte[]) value);
            case MAP -> ((Map<?, ?>) value).forEach((key, text) -> {
                Writer entry = new Writer();
                entry.text(1, (String) key);
                entry.text(2, (String) text);
                raw(field.number(), entry.take());
            });
            default -> {
                tag(field.number(), VARINT);
                number(value instanceof Long number
                        ? number
                        : value instanceof Boolean flag ? flag ? 1 : 0 : field.names().indexOf(value));
            }
        }
    }

    private void text(int number, String text) {
        raw(number, text.getBytes(StandardCharsets.UTF_8));
    }

    private void raw(int number, byte[] data) {
        tag(number, DELIMITED);
        number(data.length);
        room(data.length);
        System.arraycopy(data, 0, bytes, length, data.length);
        length += data.length;
    }

    private void tag(int number, int type) {
        number(number * 8L + type);
    }

    private void number(long value) {
        room(10);
        for (; (value & ~0x7FL) != 0; value >>>= 7) {
            bytes[length++] = (byte) (value & 0x7F | 0x80);
        }
        bytes[length++] = (byte) value;
    }

    private void room(int more) {
        if (length + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, 2 * (length + more));
        }
    }
}
