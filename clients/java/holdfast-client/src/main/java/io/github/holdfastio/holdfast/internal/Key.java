package io.github.holdfastio.holdfast.internal;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;

/** The form of a resource in a subject. */
public final class Key {
    private static final int MAX_RESOURCE_BYTES = 512;
    private static final String OWN = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-/";
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();
    private static final boolean[] IS_OWN = new boolean[128];

    static {
        OWN.chars().forEach(c -> IS_OWN[c] = true);
    }

    private Key() {}

    /** Returns the name in Unicode NFC, the only form that the service accepts. */
    public static String normalize(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (name.charAt(i) >= 0x80) {
                return Normalizer.normalize(name, Normalizer.Form.NFC);
            }
        }
        return name;
    }

    /**
     * Returns the key of a resource. The name is normalised to NFC first. Throws InvalidException if it is not 1 to 512
     * bytes of UTF-8 without control characters.
     */
    public static String encode(String name) {
        byte[] bytes = check(normalize(name));
        StringBuilder key = new StringBuilder(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            int b = bytes[i] & 0xFF;
            // A dot is escaped where it would make an empty level.
            boolean dot = b == '.' && i > 0 && i < bytes.length - 1 && bytes[i - 1] != '.';
            if (dot || (b < 128 && IS_OWN[b])) {
                key.append((char) b);
            } else {
                key.append('=').append(HEX[b >> 4]).append(HEX[b & 15]);
            }
        }
        return key.toString();
    }

    /** Returns the shard of a key: FNV-1a-32(key) mod shards. */
    public static long shard(String key, long shards) {
        Checks.require(shards >= 1, "shards must be at least 1, is " + shards);
        int hash = 0x811C9DC5;
        for (int i = 0; i < key.length(); i++) {
            hash = (hash ^ key.charAt(i)) * 16777619;
        }
        return Integer.toUnsignedLong(hash) % shards;
    }

    /** Returns text in UTF-8. Throws InvalidException if it has a lone surrogate. */
    static byte[] bytes(String what, String text) {
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException e) {
            throw Checks.invalid(what + " must be UTF-8, this one has a lone surrogate");
        }
    }

    private static byte[] check(String name) {
        byte[] bytes = bytes("a resource", name);
        Checks.require(
                bytes.length >= 1 && bytes.length <= MAX_RESOURCE_BYTES,
                "a resource must have 1 to " + MAX_RESOURCE_BYTES + " bytes, this one has " + bytes.length);
        Checks.require(
                name.chars().noneMatch(c -> c < 0x20 || (c >= 0x7F && c < 0xA0)),
                "a resource must have no control characters, this one has one");
        return bytes;
    }
}
