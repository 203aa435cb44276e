package io.github.holdfastio.holdfast.spring;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** As much of NATS as a login takes: it accepts each, and keeps the first. */
final class LoginServer implements AutoCloseable {
    /** What a login signs. */
    static final String NONCE = "dG9nZXRoZXI";

    private static final String INFO = "INFO {\"server_id\":\"x\",\"version\":\"2.12.0\",\"proto\":1,\"headers\":true,"
            + "\"max_payload\":1048576,\"auth_required\":true,\"nonce\":\"" + NONCE + "\"}\r\n";

    private final ServerSocket listener = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
    private final CompletableFuture<String> login = new CompletableFuture<>();

    LoginServer() throws IOException {
        Thread thread = new Thread(this::serve, "login server");
        thread.setDaemon(true);
        thread.start();
    }

    String url() {
        return "nats://127.0.0.1:" + listener.getLocalPort();
    }

    /** Waits for a login, and returns what the client has sent, in JSON. */
    String login() throws Exception {
        return login.get(30, TimeUnit.SECONDS);
    }

    private void serve() {
        while (!listener.isClosed()) {
            try (Socket client = listener.accept();
                    OutputStream out = client.getOutputStream();
                    BufferedReader in = new BufferedReader(new InputStreamReader(client.getInputStream(), UTF_8))) {
                out.write(INFO.getBytes(UTF_8));
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    if (line.startsWith("CONNECT ")) {
                        login.complete(line.substring("CONNECT ".length()));
                    } else if (line.equals("PING")) {
                        out.write("PONG\r\n".getBytes(UTF_8));
                    }
                }
            } catch (IOException e) {
                // the client has gone, or it is closed
            }
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
