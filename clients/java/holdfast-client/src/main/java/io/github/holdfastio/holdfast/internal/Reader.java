package io.github.holdfastio.holdfast.internal;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads messages in protobuf, or in JSON. Fields that it does not know are passed over. */
final class Reader {
    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int DELIMITED = 2;
    private static final int FIXED32 = 5;

    private final byte[] data;
    private int at;

    private Reader(byte[] data) {
        this.data = data;
    }

    /**
     * Returns a message. The answer to a request without fields is in JSON, and no message of the contract begins with
     * a brace in protobuf. Throws IllegalArgumentException if the bytes are malformed.
     */
    static Message parse(Schema schema, byte[] data) {
        if (data.length > 0 && data[0] == '{') {
            return Json.parse(data);
        }
        return new Reader(data).message(schema, data.length);
    }

    private Message message(Schema schema, int end) {
        Message message = new Message();
        while (at < end) {
            long tag = number(end);
            int type = (int) (tag & 7);
            Schema.Field field = schema.numbered((int) Math.min(tag >>> 3, Integer.MAX_VALUE));
            if (field != null && type == DELIMITED && (field.repeated() || !field.kind().isVarint())) {
                int until = size(end);
                delimited(field, message, until);
                at = until;
            } else if (field != null && type == VARINT && field.kind().isVarint()) {
                put(field, message, scalar(field, end));
            } else {
                skip(type, end);
            }
        }
        return message;
    }

    private void delimited(Schema.Field field, Message message, int end) {
        switch (field.kind()) {
            case TEXT -> put(field, message, text(end));
            case MESSAGE -> put(field, message, message(field.schema(), end));
            case MAP -> {
                Message entry = message(field.schema(), end);
                Map<String, String> map = new HashMap<>(message.map(field.name()));
                map.put(entry.text("key"), entry.text("value"));
                message.with(field.name(), map);
            }
            case BYTES -> {}
            default -> {
                while (at < end) { // packed
                    put(field, message, scalar(field, end));
                }
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static void put(Schema.Field field, Message message, Object value) {
        if (field.repeated()) {
            ((List<Object>) message.fields().computeIfAbsent(field.name(), name -> new ArrayList<>())).add(value);
        } else {
            message.with(field.name(), value);
        }
    }

    private Object scalar(Schema.Field field, int end) {
        long value = number(end);
        return switch (field.kind()) {
            case FLAG -> value != 0;
            case NAME -> value >= 0 && value < field.names().size()
                    ? field.names().get((int) value)
                    : Long.toString(value);
            default -> value;
        };
    }

    private String text(int end) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data, at, end - at)).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("a text is no UTF-8", e);
        }
    }

    private int size(int end) {
        long size = number(end);
        if (size < 0 || size > end - at) {
            throw new IllegalArgumentException("a field has no end");
        }
        return at + (int) size;
    }

    private long number(int end) {
        long value = 0;
        for (int shift = 0; shift < 70 && at < end; shift += 7) {
            byte b = data[at++];
            value |= (b & 0x7FL) << shift;
            if (b >= 0) {
                return value;
            }
        }
        throw new IllegalArgumentException("a number has no end");
    }

    private void skip(int type, int end) {
        switch (type) {
            case VARINT -> number(end);
            case DELIMITED -> at = size(end);
            case FIXED64 -> at += 8;
            case FIXED32 -> at += 4;
            default -> throw new IllegalArgumentException("a field has the wire type " + type);
        }
        if (at > end) {
            throw new IllegalArgumentException("a field has no end");
        }
    }
}
