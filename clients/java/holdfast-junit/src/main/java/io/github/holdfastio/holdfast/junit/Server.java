package io.github.holdfastio.holdfast.junit;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfastio.holdfast.Holdfast;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node in a process of its own, on a free port of 127.0.0.1 and in a temporary folder. Any thread may use it.
 *
 * <p>Its clients reach it through a relay in the process of the test, which makes the faults that a test asks for:
 * client and node are unchanged. Requests in protobuf are known, as the clients in Java and Go send them.
 */
public final class Server implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("^Holdfast is ready: NATS at (nats://\\S+),.*");

    /** How long a node may take to be ready, to stop, and to carry out a command, in seconds. */
    private static final long PATIENCE = 60;

    /** How many lines of a node's output an error shows. */
    private static final int LINES = 50;

    /** Those that are not closed, which end with this process. */
    private static final Set<Server> RUNNING = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(Server::close)));
    }

    private final String binary;
    private final List<String> flags;
    private final Path folder;
    private final Faults faults = new Faults();
    private final Relay relay;
    private @Nullable Process process;
    private @Nullable URI node;

    private Server(List<String> flags) throws IOException {
        String named = System.getenv("HOLDFAST_BINARY");
        this.binary = named == null || named.isEmpty() ? "holdfast" : named;
        this.flags = List.copyOf(flags);
        this.relay = new Relay(faults);
        this.folder = Files.createTempDirectory("holdfast-");
    }

    /**
     * Starts a node with an empty store.
     *
     * @param flags further flags of {@code holdfast serve}
     * @return the node, when it is ready
     * @throws IllegalStateException if there is no binary, or the node is not ready within a minute
     */
    public static Server create(String... flags) {
        try {
            Server server = new Server(List.of(flags));
            RUNNING.add(server);
            try {
                server.start();
                return server;
            } catch (RuntimeException e) {
                server.close();
                throw e;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns the address for clients, which stays the same.
     *
     * @return a URL of NATS
     */
    public String url() {
        return relay.url();
    }

    /**
     * Starts the node again after {@link #stop} or {@link #kill}, with its data. While it runs, nothing happens.
     *
     * @throws IllegalStateException if the node is not ready within a minute
     */
    public synchronized void start() {
        if (process != null) {
            return;
        }
        List<String> command = new ArrayList<>(List.of(binary, "serve", "--listen", "127.0.0.1:0", "--data",
                folder.resolve("data").toString(), "--http", "off", "--min-ttl", "100ms"));
        command.addAll(flags);
        Process started = run(command);
        process = started;
        Queue<String> output = new ArrayDeque<>();
        CompletableFuture<URI> ready = new CompletableFuture<>();
        Thread reader = new Thread(() -> read(started, output, ready), "holdfast node");
        reader.setDaemon(true);
        reader.start();
        try {
            URI address = ready.get(PATIENCE, TimeUnit.SECONDS);
            node = address;
            relay.open(address);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            end(true);
            synchronized (output) {
                throw new IllegalStateException("the node is not ready:\n" + String.join("\n", output), e);
            }
        }
    }

    private static void read(Process process, Queue<String> output, CompletableFuture<URI> ready) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher matcher = READY.matcher(line);
                if (matcher.matches()) {
                    ready.complete(URI.create(matcher.group(1)));
                }
                synchronized (output) {
                    output.add(line);
                    if (output.size() > LINES) {
                        output.remove();
                    }
                }
            }
            ready.completeExceptionally(new IOException("the node has ended"));
        } catch (IOException e) {
            ready.completeExceptionally(e);
        }
    }

    private static Process run(List<String> command) {
        try {
            return new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw new IllegalStateException("there is no program " + command.get(0)
                    + ": set HOLDFAST_BINARY to the binary of Holdfast, or put it into the PATH", e);
        }
    }

    /** Stops the node in order. Connections break, and none can be made until it is started again. */
    public synchronized void stop() {
        end(false);
    }

    /** Stops the node without a chance to write anything. */
    public synchronized void kill() {
        end(true);
    }

    private void end(boolean forcibly) {
        Process ending = process;
        if (ending == null) {
            return;
        }
        process = null;
        node = null;
        relay.shut();
        if (forcibly) {
            ending.destroyForcibly();
        } else {
            ending.destroy();
        }
        try {
            if (!ending.waitFor(PATIENCE, TimeUnit.SECONDS)) {
                ending.destroyForcibly();
            }
        } catch (InterruptedException e) {
            ending.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Ends the leases of a resource now, as an operator does. Their locks are lost when the clients learn of it.
     *
     * @param resource the name of the lock
     * @throws IllegalStateException if nobody holds it
     */
    public void endLease(String resource) {
        for (long token : tokens(resource)) {
            command("break", "--token", Long.toString(token), "--reason", "ended by a test", "--", resource);
        }
    }

    /**
     * Loses all renewals of the leases that a resource has now, so that they run out and their locks are lost. Other
     * locks that their client renews by the same session run out, too. Later leases are renewed.
     *
     * @param resource the name of the lock
     * @throws IllegalStateException if nobody holds it
     */
    public void dropRenewals(String resource) {
        String key = Holdfast.encodeKey(resource);
        tokens(resource).forEach(token -> faults.drop(key, token));
    }

    /**
     * Has each request for a lock reach the node later from now on. All else passes at once.
     *
     * @param delay zero: at once
     */
    public void delayGrants(Duration delay) {
        faults.delay(delay);
    }

    private List<Long> tokens(String resource) {
        try {
            JsonValue holders = JsonParser.parse(command("get", "--json", "--", resource)).map.get("holders");
            if (holders == null || holders.array == null || holders.array.isEmpty()) {
                throw new IllegalStateException("nobody holds " + resource);
            }
            return holders.array.stream().map(holder -> Long.valueOf(holder.map.get("token").string)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a command of the binary against the node, and returns its output. */
    private synchronized String command(String name, String... arguments) {
        if (node == null) {
            throw new IllegalStateException("the node is stopped");
        }
        List<String> command = new ArrayList<>(List.of(binary, name, "--server", node.toString()));
        command.addAll(List.of(arguments));
        Process running = run(command);
        try (InputStream printed = running.getInputStream()) {
            String output = new String(printed.readAllBytes(), UTF_8);
            if (!running.waitFor(PATIENCE, TimeUnit.SECONDS) || running.exitValue() != 0) {
                throw new IllegalStateException(String.join(" ", command) + ": " + output);
            }
            return output;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } finally {
            running.destroyForcibly();
        }
    }

    /** Kills the node, and removes its data. */
    @Override
    public synchronized void close() {
        kill();
        RUNNING.remove(this);
        relay.close();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            // the system removes what is in its temporary folder
        }
    }
}
