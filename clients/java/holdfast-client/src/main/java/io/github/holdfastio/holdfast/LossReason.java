package io.github.holdfastio.holdfast;

import java.util.Locale;

/** Why a lock was lost. */
public enum LossReason {
    /** The service found that it is not held any more. */
    NOT_HELD,
    /** The service found that another owner holds it. */
    NOT_OWNER,
    /** The service found that it is held under another token. */
    STALE_TOKEN,
    /** It was not renewed in time. */
    DEADLINE,
    /** It was held for as long as its longest hold allows. */
    MAX_HOLD;

    /**
     * Returns the name that all clients of Holdfast have for it.
     *
     * @return the name in lower case
     */
    public String code() {
        return name().toLowerCase(Locale.ROOT);
    }
}
