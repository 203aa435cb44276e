package io.github.holdfastio.conformance;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.MalformedMarkException;
import io.github.holdfastio.holdfast.fence.Rule;
import io.github.holdfastio.holdfast.fence.SpentClaimException;
import io.github.holdfastio.holdfast.fence.StaleClaimException;
import io.github.holdfastio.holdfast.fence.UnknownWriteException;
import io.github.holdfastio.holdfast.fence.file.Directory;
import io.github.holdfastio.holdfast.fence.jdbc.Dialect;
import io.github.holdfastio.holdfast.fence.jdbc.Guard;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/** The driver of the guards for the suite of clients/fence/fencetest, which has its protocol in foreign.go. */
@NullMarked
public final class Guards {
    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);

    private final Map<Integer, Register> guards = new ConcurrentHashMap<>();
    private final Map<Integer, BlockingQueue<JsonObject>> changes = new ConcurrentHashMap<>();

    private Guards() {}

    /** A guard as the suite uses it. */
    private interface Register {
        void write(Claim claim, JsonObject command) throws Exception;

        void modify(Claim claim, JsonObject command, Change change) throws Exception;

        void raise(Claim claim) throws Exception;
    }

    /** Has the suite change a value; null: there is none. */
    private interface Change {
        byte[] apply(byte @Nullable [] old);
    }

    /** The suite wants the change to fail. */
    private static final class FailedChange extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** A file for each resource. */
    private record Files(Directory guard) implements Register {
        @Override
        public void write(Claim claim, JsonObject command) throws Exception {
            guard.write(claim, key(command), text(command, "value").getBytes(UTF_8));
        }

        @Override
        public void modify(Claim claim, JsonObject command, Change change) throws Exception {
            guard.modify(claim, key(command), change::apply);
        }

        @Override
        public void raise(Claim claim) throws Exception {
            guard.raise(claim);
        }

        private static String key(JsonObject command) {
            return command.get("keys").getAsJsonArray().get(0).getAsString();
        }
    }

    /** A row for each resource, and the history of all. */
    private record Rows(Guard guard, DataSource data, String upsert) implements Register {
        private static final String INSERT = "INSERT INTO orders (resource, value) VALUES (?, ?) ";
        private static final String HISTORY = "INSERT INTO history (resource, value) VALUES (?, ?)";

        /** The server has a bound of connections: guards of one address share a pool, by its URL. */
        private static final Map<String, DataSource> POOLS = new ConcurrentHashMap<>();

        static Rows open(JsonObject command, Dialect dialect) {
            boolean mysql = dialect == Dialect.MYSQL;
            String address = text(command, "address");
            DataSource data = POOLS.computeIfAbsent(
                    mysql
                            ? "jdbc:mariadb://" + address + "/test?user=root"
                            : "jdbc:postgresql://" + address + "/postgres?user=postgres",
                    Rows::pool);
            String upsert = INSERT + (mysql
                    ? "ON DUPLICATE KEY UPDATE value = VALUES(value)"
                    : "ON CONFLICT (resource) DO UPDATE SET value = excluded.value");
            return new Rows(new Guard(dialect).withRule(rule(command)), data, upsert);
        }

        private static DataSource pool(String url) {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(url);
            config.setMaximumPoolSize(16);
            config.setMinimumIdle(0);
            config.setIdleTimeout(10_000);
            config.setConnectionTimeout(60_000);
            config.setInitializationFailTimeout(-1); // the server may yet be down
            return new HikariDataSource(config);
        }

        @Override
        public void write(Claim claim, JsonObject command) throws Exception {
            byte[] value = text(command, "value").getBytes(UTF_8);
            guard.run(data, claim, connection -> {
                store(connection, upsert, claim, value);
                store(connection, HISTORY, claim, value);
                return null;
            });
        }

        @Override
        public void modify(Claim claim, JsonObject command, Change change) throws Exception {
            guard.run(data, claim, connection -> {
                store(connection, upsert, claim, change.apply(value(connection, claim)));
                return null;
            });
        }

        @Override
        public void raise(Claim claim) throws Exception {
            guard.run(data, claim, connection -> null);
        }

        private static byte @Nullable [] value(Connection connection, Claim claim) throws SQLException {
            try (PreparedStatement select =
                    connection.prepareStatement("SELECT value FROM orders WHERE resource = ?")) {
                select.setBytes(1, claim.resource().getBytes(UTF_8));
                ResultSet row = select.executeQuery();
                return row.next() ? row.getBytes(1) : null;
            }
        }

        private static void store(Connection connection, String sql, Claim claim, byte[] value) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.setBytes(1, claim.resource().getBytes(UTF_8));
                statement.setBytes(2, value);
                statement.executeUpdate();
            }
        }
    }

    /**
     * Carries out the commands of the input, each in a thread.
     *
     * @param arguments none
     * @throws IOException if the input cannot be read
     */
    public static void main(String[] arguments) throws IOException {
        System.setProperty("com.zaxxer.hikari.aliveBypassWindowMs", "0"); // the suite restarts servers
        Guards guards = new Guards();
        ExecutorService threads = Executors.newCachedThreadPool();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonObject command = JsonParser.parseString(line).getAsJsonObject();
                int id = number(command, "id");
                if (text(command, "op").equals("changed")) {
                    guards.changes.get(id).add(command);
                    continue;
                }
                guards.changes.put(id, new LinkedBlockingQueue<>());
                threads.execute(() -> guards.answer(id, command));
            }
        }
        System.exit(0);
    }

    private void answer(int id, JsonObject command) {
        try {
            carryOut(id, command);
            say(id, answer -> {});
        } catch (StaleClaimException e) {
            String kind = e instanceof SpentClaimException ? "spent" : "stale";
            say(id, answer -> {
                answer.addProperty("error", kind);
                answer.addProperty("highest", Long.toString(e.highest()));
            });
        } catch (Exception e) {
            say(id, answer -> {
                answer.addProperty("error", kind(e));
                answer.addProperty("detail", e.toString());
            });
        }
    }

    private static String kind(Exception e) {
        if (e instanceof InvalidException) {
            return "invalid";
        } else if (e instanceof MalformedMarkException) {
            return "malformed";
        } else if (e instanceof UnknownWriteException) {
            return "unknown";
        }
        return e instanceof FailedChange ? "failed" : "other";
    }

    private void carryOut(int id, JsonObject command) throws Exception {
        String operation = text(command, "op");
        if (operation.equals("open")) {
            guards.put(id, open(command));
            return;
        }
        Register guard = guards.get(number(command, "on"));
        Claim claim = new Claim(text(command, "resource"), Long.parseUnsignedLong(text(command, "token")));
        switch (operation) {
            case "write" -> guard.write(claim, command);
            case "modify" -> guard.modify(claim, command, old -> ask(id, old));
            case "raise" -> guard.raise(claim);
            default -> throw new IllegalArgumentException("the guard has no " + operation);
        }
    }

    private static Register open(JsonObject command) throws IOException {
        return switch (text(command, "store")) {
            case "file" -> new Files(Directory.open(Path.of(text(command, "address"))).withRule(rule(command)));
            case "postgresql" -> Rows.open(command, Dialect.POSTGRESQL);
            case "mariadb" -> Rows.open(command, Dialect.MYSQL);
            default -> throw new IllegalArgumentException("there is no guard for " + text(command, "store"));
        };
    }

    private byte[] ask(int id, byte @Nullable [] old) {
        say(id, answer -> {
            answer.addProperty("asks", true);
            answer.addProperty("old", old == null ? "" : new String(old, UTF_8));
        });
        try {
            JsonObject answer = changes.get(id).take();
            if (answer.has("failed")) {
                throw new FailedChange();
            }
            return text(answer, "value").getBytes(UTF_8);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static synchronized void say(int id, Consumer<JsonObject> members) {
        JsonObject answer = new JsonObject();
        answer.addProperty("id", id);
        members.accept(answer);
        OUT.println(answer);
    }

    private static Rule rule(JsonObject command) {
        return command.get("once").getAsBoolean() ? Rule.ONCE : Rule.REPEATABLE;
    }

    private static int number(JsonObject command, String name) {
        return command.get(name).getAsInt();
    }

    private static String text(JsonObject command, String name) {
        JsonElement value = command.get(name);
        return value == null ? "" : value.getAsString();
    }
}
