package io.github.holdfastio.holdfast.internal;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** What a request about a lock has to carry. */
final class Secret {
    private Secret() {}

    /** Returns what the service keeps of a secret: its SHA-256. */
    static byte[] hash(byte[] secret) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(secret);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("each Java platform has SHA-256", e);
        }
    }
}
