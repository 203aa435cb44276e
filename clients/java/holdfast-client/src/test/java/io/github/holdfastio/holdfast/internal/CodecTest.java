package io.github.holdfastio.holdfast.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Messages of the contract in protobuf and JSON. */
class CodecTest {
    private static byte[] hex(String text) {
        return HexFormat.of().parseHex(text.replace(" ", ""));
    }

    @Test
    void aRequestIsWrittenAsProtobuf() {
        Message m = new Message()
                .with("owner", "a")
                .with("ttl_ms", 300)
                .with("durability", "EPHEMERAL")
                .with("reentrant", true)
                .with("metadata", Map.of("k", "v"))
                .with("wait_ms", 0);
        assertArrayEquals(
                hex("0a 01 61  10 ac 02  28 01  30 01  3a 06 0a 01 6b 12 01 76"), Writer.request("acquire", m));
    }

    @Test
    void aBatchIsWrittenAsProtobuf() {
        Writer writer = new Writer();
        writer.call(7, "k", "get", new byte[] {8, 1});
        assertArrayEquals(hex("0a 09  08 07  12 01 6b  32 02 08 01"), writer.take());
    }

    @Test
    void aReplyIsReadFromProtobuf() {
        // Status HELD, a lease with a token above 32 bits and packed slots, an unknown field, and two holders.
        Message m = Reader.parse(
                Schema.REPLY,
                hex("08 02  12 0b 18 80 80 80 80 80 20 5a 02 00 03  fa 07 01 ff  2a 03 12 01 78  2a 03 12 01 79  18 05"));
        assertEquals("HELD", m.text("status"));
        assertEquals(1L << 40, m.message("lease").number("token"));
        assertEquals(List.of(0, 3), m.message("lease").numbers("slots"));
        assertEquals(List.of("x", "y"), m.messages("holders").stream().map(h -> h.text("owner")).toList());
        assertEquals(5, m.number("waiting"));
        assertFalse(m.flag("lasting"));
    }

    @Test
    void aReplyInJsonIsTheSame() {
        byte[] json = "{\"status\":\"HELD\",\"lease\":{\"token\":\"1099511627776\",\"metadata\":{\"k\":\"\\u00e9\\n\"}}}"
                .getBytes(StandardCharsets.UTF_8);
        Message m = Reader.parse(Schema.REPLY, json);
        assertEquals("HELD", m.text("status"));
        assertEquals(1L << 40, m.message("lease").number("token"));
        assertEquals(Map.of("k", "é\n"), m.message("lease").map("metadata"));
    }

    @Test
    void malformedMessagesAreRefused() {
        for (String text : List.of("12 05 18", "12 ff ff ff ff 0f", "08", "08 ff ff ff ff ff ff ff ff ff ff 01", "0b", "22 02 c3 28")) {
            assertThrows(IllegalArgumentException.class, () -> Reader.parse(Schema.REPLY, hex(text)), text);
        }
        for (String text : List.of("{", "{\"a\"}", "{\"a\":1}x", "{\"a\":\"\\u00\"}", "{\"a\":[1,}", "{\"a\":tru}")) {
            assertThrows(IllegalArgumentException.class, () -> Json.parse(text.getBytes(StandardCharsets.UTF_8)), text);
        }
        assertThrows(
                IllegalArgumentException.class,
                () -> Json.parse(("{\"a\":" + "[".repeat(100_000)).getBytes(StandardCharsets.UTF_8)));
        assertThrows(
                IllegalArgumentException.class,
                () -> Json.parse(("{\"a\":" + "9".repeat(100_000) + "}").getBytes(StandardCharsets.UTF_8)));
        assertThrows(IllegalArgumentException.class, () -> new Message().with("token", "x").flag("token"));
    }

    @Test
    void anyBytesAreReadOrRefused() {
        Random random = new Random(1);
        int read = 0;
        for (int i = 0; i < 100_000; i++) {
            byte[] bytes = new byte[random.nextInt(40)];
            random.nextBytes(bytes);
            try {
                Reader.parse(Schema.BATCH_REPLY, bytes);
                read++;
            } catch (IllegalArgumentException e) {
                // It is refused.
            }
        }
        assertTrue(read > 0);
    }

    @Test
    void anyTextIsReadAsJsonOrRefused() {
        String json = "{\"status\":\"HELD\",\"lease\":{\"token\":-12,\"slots\":[0,1.5e9],\"ok\":true,\"no\":null,\"k\":\"\\u00e9\\n\"}}";
        Random random = new Random(1);
        int read = 0;
        for (int i = 0; i < 100_000; i++) {
            byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
            for (int changes = random.nextInt(4); changes > 0; changes--) {
                bytes[random.nextInt(bytes.length)] = bytes[random.nextInt(bytes.length)];
            }
            try {
                Json.parse(bytes);
                read++;
            } catch (IllegalArgumentException e) {
                // It is refused.
            }
        }
        assertTrue(read > 0 && read < 100_000);
    }
}
