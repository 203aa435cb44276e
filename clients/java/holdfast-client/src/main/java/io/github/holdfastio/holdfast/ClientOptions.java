package io.github.holdfastio.holdfast;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of a client. It cannot be changed: each method returns a copy with another value. They are checked when the
 * client is made, which throws {@link InvalidException}.
 */
public final class ClientOptions implements Cloneable {
    private static final ClientOptions DEFAULTS = new ClientOptions();

    @Nullable String owner;
    Duration ttl = Duration.ofSeconds(30);
    Duration timeout = Duration.ofSeconds(15);
    String prefix = "holdfast";
    boolean sessions = true;
    Duration cache = Duration.ZERO;
    byte @Nullable [] secret;
    @Nullable BiConsumer<? super Lock, ? super @Nullable HoldfastException> onJeopardy;
    @Nullable Duration releaseOnDisconnect;
    @Nullable Executor executor;

    private ClientOptions() {}

    /**
     * Returns the options that suit most clients.
     *
     * @return the options
     */
    public static ClientOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Sets the name of the holder at the service.
     *
     * @param value 1 to 256 bytes; null, the default: one with the host, the process and a random part
     * @return a copy
     */
    public ClientOptions owner(@Nullable String value) {
        return with(copy -> copy.owner = value);
    }

    /**
     * Sets the length of leases: how long a lock stays held after its holder has died.
     *
     * @param value 0.1 s to 24 h; 30 s by default
     * @return a copy
     */
    public ClientOptions ttl(Duration value) {
        return with(copy -> copy.ttl = value);
    }

    /**
     * Sets how long a call waits for an answer, its wait for the lock not included.
     *
     * @param value at least 1 ms; 15 s by default
     * @return a copy
     */
    public ClientOptions timeout(Duration value) {
        return with(copy -> copy.timeout = value);
    }

    /**
     * Sets the prefix of the subjects of the deployment.
     *
     * @param value at most 64 of A-Z a-z 0-9 _ - with single dots; "holdfast" by default
     * @return a copy
     */
    public ClientOptions prefix(String value) {
        return with(copy -> copy.prefix = value);
    }

    /**
     * Sets whether several locks are kept alive with one request, if the deployment has the feature "sessions".
     *
     * @param value true by default
     * @return a copy
     */
    public ClientOptions sessions(boolean value) {
        return with(copy -> copy.sessions = value);
    }

    /**
     * Sets for how long without a use a lease is kept after its lock was released.
     *
     * @param value zero, the default: not at all; see {@link LockOptions#cache}
     * @return a copy
     */
    public ClientOptions cache(Duration value) {
        return with(copy -> copy.cache = value);
    }

    /**
     * Sets what a request about a lock of this client has to carry, if the deployment has the feature "secrets".
     * Clients that share an owner share it, too.
     *
     * @param value 16 to 64 bytes, which are copied; null, the default: random ones
     * @return a copy
     */
    public ClientOptions secret(byte @Nullable [] value) {
        return with(copy -> copy.secret = value == null ? null : value.clone());
    }

    /**
     * Sets what is called when the renewal of a lock begins to fail, with the error, and when it succeeds again, with
     * null.
     *
     * @param value the function, which the executor of the client runs; null, the default: none
     * @return a copy
     */
    public ClientOptions onJeopardy(@Nullable BiConsumer<? super Lock, ? super @Nullable HoldfastException> value) {
        return with(copy -> copy.onJeopardy = value);
    }

    /**
     * Sets after how long without a connection locks are released early: when another request waits for one of them,
     * and NATS has reported for so long that the client does not listen. The client counts them as lost when nothing
     * was answered for that time. It needs sessions, in the deployment, too; locks with reentrant, maxHold or
     * renew(false) do not have it.
     *
     * @param value at least 5 s; null, the default: they stay until their TTL is over
     * @return a copy
     */
    public ClientOptions releaseOnDisconnect(@Nullable Duration value) {
        return with(copy -> copy.releaseOnDisconnect = value);
    }

    /**
     * Sets what runs the functions of the application: those given to {@link Lock#onLost} and the stages of futures. It
     * must not run them in the thread that brings them, which renews all locks of the client.
     *
     * @param value the executor, which is not shut down; null, the default: daemon threads of the client
     * @return a copy
     */
    public ClientOptions executor(@Nullable Executor value) {
        return with(copy -> copy.executor = value);
    }

    private ClientOptions with(Consumer<ClientOptions> change) {
        try {
            ClientOptions copy = (ClientOptions) clone();
            change.accept(copy);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
