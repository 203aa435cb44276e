package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** Entry. */
public final class Holdfast {
    private Holdfast() {}
    public static io.nats.client.Options.Builder options(io.nats.client.Options.Builder options) { throw new UnsupportedOperationException(); }
    public static Client connect(String servers) throws InterruptedException { throw new UnsupportedOperationException(); }
    public static Client connect(String servers, ClientOptions options) throws InterruptedException { throw new UnsupportedOperationException(); }
    public static Client connect(io.nats.client.Options.Builder nats, ClientOptions options) throws InterruptedException { throw new UnsupportedOperationException(); }
    public static Client client(Connection connection) { throw new UnsupportedOperationException(); }
    public static Client client(Connection connection, ClientOptions options) { throw new UnsupportedOperationException(); }
    public static String encodeKey(String name) { throw new UnsupportedOperationException(); }
    public static long shardOf(String key, long shards) { throw new UnsupportedOperationException(); }
}
