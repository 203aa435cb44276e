package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.UnavailableReason;
import io.nats.client.AuthenticationException;
import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.IOException;
import java.time.Duration;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A connection to NATS that suits a holder of locks. */
public final class Connecting {
    private static final Duration RECONNECT_WAIT = Duration.ofMillis(400);
    private static final Duration PING_INTERVAL = Duration.ofSeconds(5);

    private Connecting() {}

    /** Sets what suits a holder of locks: see Holdfast.options. */
    public static Options.Builder options(Options.Builder builder) {
        Options given = builder.build();
        if (given.getErrorListener() instanceof Denials) {
            return builder;
        }
        builder.errorListener(new Denials(given.getErrorListener()));
        if (given.getMaxReconnect() == Options.DEFAULT_MAX_RECONNECT) {
            builder.maxReconnects(-1);
        }
        if (given.getReconnectWait().equals(Options.DEFAULT_RECONNECT_WAIT)) {
            builder.reconnectWait(RECONNECT_WAIT);
        }
        if (given.getReconnectBufferSize() == Options.DEFAULT_RECONNECT_BUF_SIZE) {
            builder.reconnectBufferSize(0);
        }
        if (given.getPingInterval().equals(Options.DEFAULT_PING_INTERVAL)) {
            builder.pingInterval(PING_INTERVAL);
        }
        if (given.getReconnectJitter().isZero()) { // jnats ends its attempts to reconnect without a word
            builder.reconnectJitter(Duration.ofNanos(1));
        }
        return builder;
    }

    /** Connects. Throws UnavailableException. */
    public static Connection connect(Options.Builder builder) throws InterruptedException {
        Options options = options(builder).build();
        try {
            return Nats.connect(options);
        } catch (AuthenticationException e) {
            throw new UnavailableException(
                    UnavailableReason.LOGIN, notConnected(options, "authentication: " + e.getMessage()), "connect", "");
        } catch (IOException e) {
            throw new UnavailableException(
                    reason(e.getMessage()), notConnected(options, e.getMessage()), "connect", "");
        }
    }

    /** Logs once for a client when its connection will give up, and its locks with it. */
    static void warnOfEnd(Options options) {
        if (options.getMaxReconnect() >= 0) {
            Loop.LOG.log(
                    System.Logger.Level.WARNING,
                    "the NATS connection gives up after {0} attempts to reconnect, and all locks with it; "
                            + "use Holdfast.options, or maxReconnects(-1)",
                    options.getMaxReconnect());
        }
    }

    /** Returns why there is no connection. */
    static String notConnected(Options options, @Nullable String error) {
        String hosts = options.getServers().stream()
                .map(uri -> uri.getHost() + ":" + uri.getPort()) // without logins
                .collect(Collectors.joining(", "));
        String cause = error == null || error.isEmpty() ? "" : ": " + error;
        return reason(error) == UnavailableReason.LOGIN
                ? "NATS at " + hosts + " refuses the login" + cause + "; check the user and the password or credentials"
                : "no NATS server can be reached at " + hosts + cause;
    }

    static UnavailableReason reason(@Nullable String error) {
        String text = error == null ? "" : error.toLowerCase(Locale.ROOT);
        boolean isLogin = text.contains("authorization") || text.contains("authentication");
        return isLogin ? UnavailableReason.LOGIN : UnavailableReason.NOT_CONNECTED;
    }
}
