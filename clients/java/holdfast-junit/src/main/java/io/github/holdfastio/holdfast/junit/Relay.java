package io.github.holdfastio.holdfast.junit;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Passes connections on to a node, from an address that stays the same while the node is stopped. */
final class Relay implements Closeable {
    /** The longest message that a client may publish. NATS takes 64 MB at most, and 1 MB by default. */
    private static final int MAX_FRAME = 8 << 20;

    /** The longest line. That of a login is the longest. */
    private static final int MAX_LINE = 64 << 10;

    private final Faults faults;
    private final ServerSocket listener;
    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(Relay::daemon);
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

    /** Where the node is; null: it is stopped, and each connection is closed. */
    private volatile @Nullable URI target;

    Relay(Faults faults) throws IOException {
        this.faults = faults;
        this.listener = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        daemon(this::accept).start();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "holdfast relay");
        thread.setDaemon(true);
        return thread;
    }

    String url() {
        return "nats://127.0.0.1:" + listener.getLocalPort();
    }

    /** Takes connections for a node. */
    void open(URI node) {
        target = node;
    }

    /** Refuses connections, because the node is stopped, and breaks those that there are. */
    void shut() {
        target = null;
        sockets.forEach(Relay::end);
    }

    @Override
    public void close() {
        shut();
        later.shutdownNow();
        end(listener);
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                daemon(() -> join(client)).start();
            } catch (IOException e) {
                // it is closed, or the client has gone
            }
        }
    }

    private void join(Socket client) {
        URI node = target;
        sockets.add(client);
        try (client; Socket server = node == null ? null : new Socket(node.getHost(), node.getPort())) {
            if (server == null) {
                return;
            }
            sockets.add(server);
            if (target != node) { // it was stopped since
                return;
            }
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            daemon(() -> answers(server, client)).start();
            requests(client, server);
            sockets.remove(server);
        } catch (IOException | UncheckedIOException | IllegalArgumentException e) {
            // an end of the connection has gone, or what comes is not the protocol
        } finally {
            sockets.remove(client);
        }
    }

    private void answers(Socket server, Socket client) {
        try (server; client) {
            server.getInputStream().transferTo(client.getOutputStream());
        } catch (IOException e) {
            // an end of the connection has gone
        } finally {
            sockets.remove(server);
        }
    }

    private void requests(Socket client, Socket server) throws IOException {
        InputStream in = new BufferedInputStream(client.getInputStream());
        OutputStream out = server.getOutputStream();
        for (byte[] line = line(in); line.length > 0; line = line(in)) {
            String[] words = new String(line, ISO_8859_1).strip().split("[ \t]+");
            String verb = words[0].toUpperCase(Locale.ROOT);
            if (!verb.equals("PUB") && !verb.equals("HPUB")) {
                write(out, line);
                continue;
            }
            int size = Integer.parseInt(words[words.length - 1]);
            int head = verb.equals("HPUB") ? Integer.parseInt(words[words.length - 2]) : 0;
            if (head < 0 || size < head || size > MAX_FRAME) {
                throw new IllegalArgumentException("no message has this size");
            }
            byte[] message = in.readNBytes(size + 2);
            if (message.length < size + 2) {
                throw new EOFException();
            }
            publish(out, words, Arrays.copyOf(message, head), Arrays.copyOfRange(message, head, size));
        }
    }

    /** Returns a line with its end; empty: there is none. */
    private static byte[] line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next >= 0; next = in.read()) {
            line.write(next);
            if (next == '\n') {
                return line.toByteArray();
            }
            if (line.size() > MAX_LINE) {
                throw new IllegalArgumentException("the line is too long");
            }
        }
        return new byte[0];
    }

    private void publish(OutputStream out, String[] words, byte[] head, byte[] body) throws IOException {
        int sizes = words[0].equalsIgnoreCase("HPUB") ? 2 : 1;
        String start = String.join(" ", Arrays.copyOf(words, words.length - sizes))
                + (sizes == 2 ? " " + head.length : "");
        for (Faults.Part part : faults.judge(words[1], body)) {
            ByteArrayOutputStream frame = new ByteArrayOutputStream();
            frame.writeBytes((start + " " + (head.length + part.payload().length) + "\r\n").getBytes(ISO_8859_1));
            frame.writeBytes(head);
            frame.writeBytes(part.payload());
            frame.writeBytes(new byte[] {'\r', '\n'});
            if (part.after().isZero()) {
                write(out, frame.toByteArray());
            } else {
                later.schedule(() -> write(out, frame.toByteArray()), part.after().toNanos(), TimeUnit.NANOSECONDS);
            }
        }
    }

    private static void write(OutputStream out, byte[] frame) {
        synchronized (out) {
            try {
                out.write(frame);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static void end(Closeable end) {
        try {
            end.close();
        } catch (IOException e) {
            // it has ended
        }
    }
}
