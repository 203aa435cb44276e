package io.github.holdfastio.holdfast;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The time for which a client leads an election, made by {@link Client#campaign}. It ends when it is resigned, or its lock
 * is lost; what the leader does must stop then. Any thread may use it.
 */
public final class Leadership implements AutoCloseable {
    /** The entry of the metadata that has the value of a leader. */
    static final String VALUE = "value";

    private final Lock lock;

    Leadership(Lock lock) {
        this.lock = lock;
    }

    static Map<String, String> withValue(Map<String, String> metadata, String value) {
        Map<String, String> copy = new HashMap<>(metadata);
        copy.put(VALUE, value);
        return Map.copyOf(copy);
    }

    /**
     * Returns the lock that the leader holds. It says whether the client leads, and has the token of the leadership.
     *
     * @return the lock
     */
    public Lock lock() {
        return lock;
    }

    /**
     * Returns what was last published.
     *
     * @return the value
     */
    public String value() {
        return lock.metadata().getOrDefault(VALUE, "");
    }

    /**
     * Publishes another value; observers see them in the order of the calls. The errors are those of
     * {@link Lock#setMetadata}.
     *
     * @param value the value
     * @throws InterruptedException if the thread was interrupted
     */
    public void proclaim(String value) throws InterruptedException {
        lock.setMetadata(withValue(lock.metadata(), value));
    }

    /**
     * Does what {@link #proclaim} does.
     *
     * @param value the value
     * @return a future, which has the errors of proclaim
     */
    public CompletableFuture<Void> proclaimAsync(String value) {
        return lock.setMetadataAsync(withValue(lock.metadata(), value));
    }

    /**
     * Ends the leadership, so that the next candidate leads at once. The errors are those of {@link Lock#release}.
     *
     * @throws InterruptedException if the thread was interrupted
     */
    public void resign() throws InterruptedException {
        lock.release();
    }

    /**
     * Ends the leadership at the end of a block, as {@link Lock#close}.
     *
     * @throws LostException if the client did not lead to the end
     */
    @Override
    public void close() {
        lock.close();
    }

    @Override
    public String toString() {
        return "Leadership " + lock.name() + " with token " + lock.token();
    }
}
