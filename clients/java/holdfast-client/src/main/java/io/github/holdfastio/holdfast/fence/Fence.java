package io.github.holdfastio.holdfast.fence;

import io.github.holdfastio.holdfast.InvalidException;

/** The text of fences: 15 digits, whose text order is numeric order. */
public final class Fence {
    /** The last token of a resource. */
    public static final long MAX_TOKEN = 900_000_000_000_000L;

    private static final int DIGITS = 15;

    private Fence() {}

    /**
     * Returns the text of a fence.
     *
     * @param token the token, 0 to {@link #MAX_TOKEN}
     * @return 15 digits
     * @throws InvalidException if the token is out of bounds
     */
    public static String format(long token) {
        if (token < 0 || token > MAX_TOKEN) {
            throw new InvalidException("token must be 0 to " + MAX_TOKEN + ", is " + token, "", "", null);
        }
        String digits = Long.toString(token);
        return "0".repeat(DIGITS - digits.length()) + digits; // mutant: JavaFenceWithoutZeros
    }

    /**
     * Returns the number of a fence.
     *
     * @param text the fence
     * @return its number, which may be above {@link #MAX_TOKEN}
     * @throws InvalidException if the text is not 15 digits
     */
    public static long parse(String text) {
        if (text.length() != DIGITS || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new InvalidException("fence must be " + DIGITS + " digits, is '" + text + "'", "", "", null);
        }
        return Long.parseLong(text);
    }
}
