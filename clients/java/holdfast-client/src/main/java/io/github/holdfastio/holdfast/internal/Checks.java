package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.InvalidException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The bounds of options. Times are in nanoseconds. */
public final class Checks {
    /** The limit of a lock of mode shared. */
    public static final long READERS = 4_294_967_295L;

    public static final int MAX_PERMITS = 1000;
    public static final long MIN_TTL = 100 * Clock.MILLISECOND;
    public static final long MAX_TTL = 24 * 3600 * Clock.SECOND;
    public static final long MAX_DELAY = 3600 * Clock.SECOND;
    private static final long MIN_DISCONNECT = 5 * Clock.SECOND;
    private static final int MAX_OWNER_BYTES = 256;
    private static final int MAX_PREFIX_BYTES = 64;
    private static final int MIN_SECRET_BYTES = 16;
    private static final int MAX_SECRET_BYTES = 64;
    private static final Pattern PREFIX = Pattern.compile("[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)*");
    private static final Pattern PATTERN =
            Pattern.compile("(?:(?:\\*|[A-Za-z0-9_/=-]+)\\.)*(?:\\*|>|[A-Za-z0-9_/=-]+)");
    private static final SecureRandom RANDOM = new SecureRandom();

    private Checks() {}

    public static InvalidException invalid(String text) {
        return new InvalidException(text, "", "", null);
    }

    public static void require(boolean holds, String rule) {
        if (!holds) {
            throw invalid(rule);
        }
    }

    /** Returns a duration in nanoseconds. */
    public static long duration(String name, Duration value, long minimum, long maximum) {
        long length = value.compareTo(Duration.ofNanos(Clock.NEVER)) >= 0 ? Clock.NEVER : value.toNanos();
        if (length < minimum || length > maximum) {
            String most = maximum == Clock.NEVER ? "" : " and at most " + Duration.ofNanos(maximum);
            throw invalid(name + " must be at least " + Duration.ofNanos(minimum) + most + ", is " + value);
        }
        return length;
    }

    /** Returns a duration in nanoseconds that are whole milliseconds. */
    public static long millis(String name, Duration value, long minimum, long maximum) {
        return Clock.ofMillis(Clock.millis(duration(name, value, minimum, maximum)));
    }

    public static long ttl(Duration value) {
        return millis("ttl", value, MIN_TTL, MAX_TTL);
    }

    public static String owner(String owner) {
        int size = Key.bytes("owner", owner).length;
        require(
                size >= 1 && size <= MAX_OWNER_BYTES,
                "owner must have 1 to " + MAX_OWNER_BYTES + " bytes, this one has " + size);
        return owner;
    }

    public static String prefix(String prefix) {
        require(
                PREFIX.matcher(prefix).matches() && prefix.length() <= MAX_PREFIX_BYTES,
                "prefix must be 1 to " + MAX_PREFIX_BYTES + " of A-Z a-z 0-9 _ - with single dots, is '" + prefix
                        + "'");
        return prefix;
    }

    /** Returns the secret, for null one that is used nowhere else. */
    public static byte[] secret(byte @Nullable [] secret) {
        if (secret == null) {
            return random(MIN_SECRET_BYTES);
        }
        require(
                secret.length >= MIN_SECRET_BYTES && secret.length <= MAX_SECRET_BYTES,
                "secret must have " + MIN_SECRET_BYTES + " to " + MAX_SECRET_BYTES + " bytes, has " + secret.length);
        return secret.clone();
    }

    /** Returns for how long a client may not be connected; 0 for null: without a bound. */
    public static long disconnect(@Nullable Duration value, boolean sessions) {
        if (value == null) {
            return 0;
        }
        require(sessions, "releaseOnDisconnect cannot be given with sessions(false): it needs a session");
        return millis("releaseOnDisconnect", value, MIN_DISCONNECT, MAX_TTL);
    }

    /** Returns a pattern of keys; InvalidException if no key can match it. */
    public static String pattern(String pattern, String operation) {
        if (!PATTERN.matcher(pattern).matches()) {
            String text = "pattern must be a key with the wildcards of NATS, such as orders.* or orders.>, is '" + pattern
                    + "'; Holdfast.encodeKey returns the key of a name";
            throw new InvalidException(text, operation, "", null);
        }
        return pattern;
    }

    /** Returns bytes that cannot be guessed. */
    public static byte[] random(int size) {
        byte[] bytes = new byte[size];
        RANDOM.nextBytes(bytes);
        return bytes;
    }

    /** Returns the first bytes in lower-case hexadecimal. */
    public static String hex(byte[] bytes, int size) {
        return HexFormat.of().formatHex(bytes, 0, size);
    }
}
