package io.github.holdfastio.holdfast.junit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A field of a message in protobuf.
 *
 * @param number its number
 * @param value of a number; of others how many bytes they have
 * @param bytes of a text or message; empty of a number
 * @param whole the field with its number, as it stands in the message
 */
record Field(int number, long value, byte[] bytes, byte[] whole) {
    private static final int VARINT = 0;
    private static final int DELIMITED = 2;

    /** Returns the fields of a message. Throws IllegalArgumentException if it is none, or has fields of other types. */
    static List<Field> of(byte[] message) {
        List<Field> fields = new ArrayList<>();
        Cursor cursor = new Cursor(message);
        while (cursor.at < message.length) {
            int start = cursor.at;
            long tag = cursor.varint();
            long value = cursor.varint();
            int from = cursor.at;
            if ((tag & 7) == DELIMITED) {
                if (value < 0 || value > message.length - from) {
                    throw new IllegalArgumentException("a field has no end");
                }
                cursor.at += (int) value;
            } else if ((tag & 7) != VARINT) {
                throw new IllegalArgumentException("no client of Holdfast sends a field of type " + (tag & 7));
            }
            fields.add(new Field((int) (tag >>> 3), value, Arrays.copyOfRange(message, from, cursor.at),
                    Arrays.copyOfRange(message, start, cursor.at)));
        }
        return fields;
    }

    private static final class Cursor {
        private final byte[] message;
        private int at;

        Cursor(byte[] message) {
            this.message = message;
        }

        long varint() {
            long value = 0;
            for (int shift = 0; shift < Long.SIZE && at < message.length; shift += 7) {
                byte next = message[at++];
                value |= (long) (next & 0x7f) << shift;
                if (next >= 0) {
                    return value;
                }
            }
            throw new IllegalArgumentException("a number has no end");
        }
    }
}
