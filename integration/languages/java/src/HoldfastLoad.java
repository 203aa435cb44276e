import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.LockOptions;
import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The load of the Java client. */
final class HoldfastLoad implements Load {
    private static final LockOptions CACHED = LockOptions.defaults().cache(Duration.ofMinutes(1));

    private final Connection connection;
    private final Client client;
    private final List<Lock> held = new ArrayList<>();

    private HoldfastLoad(String url) throws Exception {
        connection = Nats.connect(Holdfast.options(new Options.Builder().server(url)).build());
        client = Holdfast.client(connection);
    }

    public static void main(String[] args) throws Exception {
        Load.run(args, HoldfastLoad::new);
    }

    @Override
    public void pair(String name) throws InterruptedException {
        client.lock(name).release();
    }

    @Override
    public void cachedPair(String name) throws InterruptedException {
        client.lock(name, CACHED).release();
    }

    @Override
    public void hold(String name) throws InterruptedException {
        held.add(client.lock(name));
    }

    @Override
    public void check() {
        held.forEach(Lock::check);
    }

    @Override
    public long loss(String name) throws Exception {
        CompletableFuture<Long> signalled = new CompletableFuture<>();
        Lock lock = client.lock(name);
        lock.onLost(e -> signalled.complete(System.nanoTime()));
        TimeUnit.SECONDS.sleep(1); // by then the client receives events
        byte[] request = ("{\"token\":\"" + lock.token() + "\"}").getBytes(UTF_8);
        connection.request("holdfast.break." + name, request).get(5, TimeUnit.SECONDS);
        long broken = System.nanoTime();
        return signalled.get() - broken;
    }

    @Override
    public void close() {
        client.close();
        try {
            connection.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
