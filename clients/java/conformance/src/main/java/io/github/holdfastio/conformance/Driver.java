package io.github.holdfastio.conformance;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.reflect.TypeToken;
import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.ClientOptions;
import io.github.holdfastio.holdfast.Event;
import io.github.holdfastio.holdfast.HeldException;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.Leader;
import io.github.holdfastio.holdfast.Leadership;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.LockOptions;
import io.github.holdfastio.holdfast.LockState;
import io.github.holdfastio.holdfast.Locks;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.Mode;
import io.github.holdfastio.holdfast.Observation;
import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.Watch;
import io.github.holdfastio.holdfast.fence.Fence;
import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.jspecify.annotations.Nullable;

/** The driver of the conformance cases for this client. clients/conformance/README.md has its protocol. */
public final class Driver {
    /** What a line of the input may contain. */
    private static final Set<String> MEMBERS = Set.of(
            "id", "call", "client", "url", "owner", "timeout_ms", "sessions", "user", "password", "secret", "own", "prefix",
            "lock", "name", "ttl_ms", "wait_ms", "mode", "permits", "limit", "metadata", "ephemeral", "renew",
            "min_hold_ms", "max_hold_ms", "cached_ms", "delay_ms", "confirm", "reentrant", "disconnect_ms", "names",
            "value", "reason", "by", "how", "ms", "watch", "pattern", "shards", "token", "of");

    private static final List<String> CAPABILITIES =
            List.of("several", "election", "delay", "break", "disconnect", "reentrant");
    private static final Gson GSON = new Gson();

    /** A failure of a call that has members of the result besides. */
    private static final class Failed extends Exception {
        private static final long serialVersionUID = 1;

        private final transient Map<String, Object> result;

        Failed(Exception cause, Map<String, Object> result) {
            super(cause);
            this.result = result;
        }
    }

    /** A client, and its connection if that is the application's. */
    private record Opened(Client client, @Nullable Connection connection) {}

    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private final Map<String, Opened> clients = new ConcurrentHashMap<>();
    private final Map<String, Object> locks = new ConcurrentHashMap<>();
    private final Map<String, AutoCloseable> watches = new ConcurrentHashMap<>();
    private final Map<String, List<Map<String, Object>>> leaders = new ConcurrentHashMap<>();
    private final Map<Long, Thread> calls = new ConcurrentHashMap<>();

    private Driver() {}

    /**
     * Carries out the commands of the input until it ends, each in a thread of its own.
     *
     * @param args none
     * @throws IOException if the input cannot be read
     */
    public static void main(String[] args) throws IOException {
        loadClasses();
        Driver driver = new Driver();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            driver.begin(JsonParser.parseString(line).getAsJsonObject());
        }
        System.exit(0);
    }

    /** Loads what the first calls would have to: the times of a case are short for a virtual machine that begins. */
    private static void loadClasses() throws IOException {
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!path.contains("holdfast-client")) {
                continue;
            }
            try (JarFile jar = new JarFile(path)) {
                for (JarEntry entry : Collections.list(jar.entries())) {
                    String name = entry.getName().replace('/', '.');
                    if (name.endsWith(".class") && !name.endsWith("-info.class")) {
                        try {
                            Class.forName(name.substring(0, name.length() - ".class".length()));
                        } catch (ClassNotFoundException | LinkageError e) {
                            // It needs what is not there, and is not used.
                        }
                    }
                }
            }
        }
    }

    private void begin(JsonObject c) {
        if (!MEMBERS.containsAll(c.keySet())) {
            throw new IllegalArgumentException("a command has unknown members: " + c.keySet());
        }
        long id = c.get("id").getAsLong();
        if (text(c, "call").equals("cancel")) {
            Thread call = calls.get(c.get("of").getAsLong());
            if (call != null) {
                call.interrupt();
            }
            write(Map.of("id", id, "ok", Map.of()));
            return;
        }
        Thread call = new Thread(() -> answer(id, c), "call " + id);
        call.setDaemon(true);
        calls.put(id, call);
        call.start();
    }

    private void answer(long id, JsonObject c) {
        Map<String, Object> answer;
        try {
            answer = Map.of("id", id, "ok", call(c));
        } catch (Exception e) {
            answer = Map.of("id", id, "error", describe(e));
        }
        calls.remove(id);
        write(answer);
    }

    private Map<String, Object> call(JsonObject c) throws Exception {
        return switch (text(c, "call")) {
            case "open" -> open(c);
            case "close" -> close(c);
            case "acquire" -> acquired(c, client(c).lock(text(c, "name"), options(c)));
            case "acquire_all" -> acquireAll(c);
            case "campaign" -> campaign(c);
            case "proclaim" -> done(() -> ((Leadership) held(c)).proclaim(text(c, "value")));
            case "leader" -> leader(client(c).leader(text(c, "name")));
            case "observe" -> observe(c);
            case "break" -> done(() -> client(c).breakLock(text(c, "name"), token(c), text(c, "reason")));
            case "confirm" ->
                done(() -> client(c).confirm(text(c, "name"), token(c), text(c, "by"), text(c, "how")));
            case "has" -> Map.of("capabilities", CAPABILITIES);
            case "release" -> release(c);
            case "extend" -> extend(c);
            case "set" -> done(() -> lock(c).setMetadata(metadata(c)));
            case "wanted" -> done(() -> lock(c).awaitWanted(Duration.ofDays(1)));
            case "cache" -> cache(c);
            case "state" -> state(c);
            case "within" -> within(c);
            case "within_all" -> withinAll(c);
            case "get" -> get(c);
            case "watch" -> watch(c);
            case "unwatch" -> unwatch(c);
            case "key" -> Map.of("key", Holdfast.encodeKey(text(c, "name")));
            case "shard" ->
                Map.of("shard", Holdfast.shardOf(Holdfast.encodeKey(text(c, "name")), c.get("shards").getAsLong()));
            case "fence" -> Map.of("fence", Fence.format(token(c)));
            default -> throw new IllegalArgumentException("there is no call " + text(c, "call"));
        };
    }

    private Map<String, Object> open(JsonObject c) throws Exception {
        Options.Builder nats = Holdfast.options(new Options.Builder().server(text(c, "url")))
                .reconnectWait(Duration.ofMillis(100))
                .reconnectJitter(Duration.ofMillis(1));
        if (!text(c, "user").isEmpty()) {
            nats.userInfo(text(c, "user"), text(c, "password"));
        }
        ClientOptions options = ClientOptions.defaults();
        options = text(c, "owner").isEmpty() ? options : options.owner(text(c, "owner"));
        options = c.has("ttl_ms") ? options.ttl(millis(c, "ttl_ms")) : options;
        options = c.has("timeout_ms") ? options.timeout(millis(c, "timeout_ms")) : options;
        options = c.has("cached_ms") ? options.cache(millis(c, "cached_ms")) : options;
        options = c.has("secret") ? options.secret(text(c, "secret").getBytes(StandardCharsets.UTF_8)) : options;
        options = c.has("prefix") ? options.prefix(text(c, "prefix")) : options;
        options = c.has("disconnect_ms") ? options.releaseOnDisconnect(millis(c, "disconnect_ms")) : options;
        options = c.has("sessions") ? options.sessions(flag(c, "sessions")) : options;
        Client client;
        Connection connection = null;
        if (flag(c, "own")) {
            client = Holdfast.connect(nats, options);
        } else {
            connection = Nats.connectReconnectOnConnect(nats.build());
            try {
                client = Holdfast.client(connection, options);
            } catch (RuntimeException e) {
                connection.close();
                throw e;
            }
        }
        clients.put(text(c, "client"), new Opened(client, connection));
        return Map.of("owner", client.owner());
    }

    private Map<String, Object> close(JsonObject c) throws InterruptedException {
        Opened opened = find(clients, text(c, "client"));
        try {
            opened.client.close();
        } finally {
            if (opened.connection != null) {
                opened.connection.close();
            }
        }
        return Map.of();
    }

    private Map<String, Object> acquired(JsonObject c, Lock lock) {
        String at = now();
        put(text(c, "lock"), lock);
        Map<String, Object> result = shown(lock);
        result.put("slots", lock.slots());
        result.put("at_ns", at);
        return result;
    }

    private Map<String, Object> acquireAll(JsonObject c) throws InterruptedException {
        Locks acquired = client(c).lockAll(names(c), options(c));
        String at = now();
        put(text(c, "lock"), acquired);
        List<Map<String, Object>> all = new ArrayList<>();
        for (Lock lock : acquired.all()) {
            Map<String, Object> one = shown(lock);
            one.put("name", lock.name());
            all.add(one);
        }
        return Map.of("locks", all, "at_ns", at);
    }

    private Map<String, Object> campaign(JsonObject c) throws InterruptedException {
        Leadership leadership = client(c).campaign(text(c, "name"), text(c, "value"), options(c));
        String at = now();
        locks.put(text(c, "lock"), leadership);
        noteLoss(text(c, "lock"), leadership.lock());
        Map<String, Object> result = shown(leadership.lock());
        result.put("at_ns", at);
        return result;
    }

    /** Begins to note leaders. It is answered when the present one is noted, or that there is none. */
    private Map<String, Object> observe(JsonObject c) throws InterruptedException {
        String watch = text(c, "watch");
        Observation observation = client(c).observe(text(c, "name"));
        watches.put(watch, observation);
        List<Map<String, Object>> seen = new ArrayList<>();
        leaders.put(watch, seen);
        note(watch, seen, observation.next());
        background(() -> {
            for (Leader leader; (leader = observation.next()) != null; ) {
                note(watch, seen, leader);
            }
        });
        return Map.of();
    }

    private void note(String watch, List<Map<String, Object>> seen, @Nullable Leader leader) {
        if (leader != null) {
            Map<String, Object> note = leader(leader);
            synchronized (seen) {
                seen.add(leader(leader));
            }
            note.put("note", "leader");
            note.put("watch", watch);
            write(note);
        }
    }

    private Map<String, Object> release(JsonObject c) throws Failed {
        Object held = held(c);
        String at = now();
        try {
            if (held instanceof Leadership leadership) {
                leadership.resign();
            } else if (held instanceof Locks all) {
                all.release();
            } else {
                lock(c).release();
            }
        } catch (HoldfastException | InterruptedException e) {
            throw new Failed(e, Map.of("at_ns", at));
        }
        return Map.of("at_ns", at);
    }

    private Map<String, Object> extend(JsonObject c) throws InterruptedException {
        if (held(c) instanceof Locks all) {
            all.extend(millis(c, "ttl_ms"));
        } else {
            lock(c).extend(millis(c, "ttl_ms"));
        }
        return Map.of();
    }

    private Map<String, Object> cache(JsonObject c) throws InterruptedException {
        var stats = client(c).cacheStats();
        return Map.of("leases", stats.leases(), "uses", stats.uses(), "waiting", stats.waiting());
    }

    private Map<String, Object> state(JsonObject c) {
        Map<String, Object> state = new TreeMap<>();
        if (held(c) instanceof Locks all) {
            state.put("valid", all.isHeld());
            state.put("lost", all.reason() != null);
            if (all.reason() != null) {
                state.put("reason", all.reason().code());
            }
            return state;
        }
        Lock lock = lock(c);
        state.put("valid", lock.isHeld());
        state.put("lost", lock.reason() != null);
        state.put("token", Long.toString(lock.token()));
        state.put("fence", lock.fence());
        if (lock.reason() != null) {
            state.put("reason", lock.reason().code());
        }
        return state;
    }

    private Map<String, Object> within(JsonObject c) throws Failed {
        boolean[] done = {false};
        try {
            client(c).withLock(text(c, "name"), options(c), lock -> {
                put(text(c, "lock"), lock);
                Thread.sleep(c.get("ms").getAsLong());
                done[0] = true;
                return done;
            });
        } catch (Exception e) {
            throw new Failed(e, Map.of("done", done[0]));
        }
        return Map.of("done", done[0]);
    }

    private Map<String, Object> withinAll(JsonObject c) throws Failed {
        boolean[] done = {false};
        try {
            client(c).withLocks(names(c), options(c), all -> {
                put(text(c, "lock"), all);
                Thread.sleep(c.get("ms").getAsLong());
                done[0] = true;
                return done;
            });
        } catch (Exception e) {
            throw new Failed(e, Map.of("done", done[0]));
        }
        return Map.of("done", done[0]);
    }

    private Map<String, Object> get(JsonObject c) throws InterruptedException {
        LockState s = client(c).get(text(c, "name"));
        Map<String, Object> state = new TreeMap<>();
        Lease holder = s.holder();
        state.put("held", s.held());
        state.put("owner", holder == null ? "" : holder.owner());
        state.put("token", Long.toString(holder == null ? s.lastToken() : holder.token()));
        state.put("waiting", s.waiting());
        if (s.heldBack() != null) {
            Map<String, Object> lost = brief(s.heldBack().lease());
            lost.put("left_ms", s.heldBack().left().toMillis());
            state.put("held_back", lost);
        }
        return state;
    }

    private Map<String, Object> watch(JsonObject c) throws InterruptedException {
        Watch watch = client(c).watch(text(c, "pattern"));
        watches.put(text(c, "watch"), watch);
        background(() -> {
            for (Event event; (event = watch.next()) != null; ) {
                Map<String, Object> note = brief(event.lease());
                note.put("note", "event");
                note.put("watch", text(c, "watch"));
                note.put("kind", event.kind().name());
                note.put("name", event.name());
                write(note);
            }
        });
        return Map.of();
    }

    private Map<String, Object> unwatch(JsonObject c) throws Exception {
        find(watches, text(c, "watch")).close();
        List<Map<String, Object>> seen = leaders.get(text(c, "watch"));
        if (seen == null) {
            return Map.of();
        }
        synchronized (seen) {
            return Map.of("leaders", List.copyOf(seen));
        }
    }

    private void put(String name, Lock lock) {
        locks.put(name, lock);
        noteLoss(name, lock);
    }

    private void put(String name, Locks all) {
        locks.put(name, all);
        all.onLost(lost -> lost(name, lost));
        for (int i = 0; i < all.all().size(); i++) {
            put(name + "." + i, all.all().get(i));
        }
    }

    private void noteLoss(String name, Lock lock) {
        lock.onLost(lost -> lost(name, lost));
    }

    private void lost(String name, LostException lost) {
        write(Map.of("note", "lost", "lock", name, "reason", lost.reason().code(), "at_ns", now()));
    }

    /** Returns an error as the protocol has it. One that the client does not promise has the code "unexpected". */
    private static Map<String, Object> describe(Throwable e) {
        Map<String, Object> problem = new TreeMap<>();
        if (e instanceof Failed failed) {
            problem.putAll(describe(failed.getCause()));
            problem.putAll(failed.result);
            return problem;
        }
        problem.put("message", String.valueOf(e.getMessage()));
        if (e instanceof InterruptedException) {
            problem.put("code", "cancelled");
        } else if (e instanceof HoldfastException known) {
            problem.put("code", known.code());
            if (known.holder() != null) {
                problem.put("holder", brief(known.holder()));
            }
        } else {
            e.printStackTrace();
            problem.put("code", "unexpected");
            problem.put("message", e.toString());
        }
        if (e instanceof LostException lost) {
            problem.put("reason", lost.reason().code());
        } else if (e instanceof UnavailableException unavailable && unavailable.reason() != null) {
            problem.put("reason", unavailable.reason().code());
        } else if (e instanceof HeldException held && held.heldBack() != null) {
            problem.put("held_back", brief(held.heldBack().lease()));
        }
        return problem;
    }

    private static Map<String, Object> brief(Lease lease) {
        return new TreeMap<>(Map.of("owner", lease.owner(), "token", Long.toString(lease.token())));
    }

    private static Map<String, Object> shown(Lock lock) {
        return new TreeMap<>(
                Map.of("token", Long.toString(lock.token()), "fence", lock.fence(), "owner", lock.owner()));
    }

    private static Map<String, Object> leader(Leader leader) {
        return new TreeMap<>(Map.of(
                "leads", leader.leads(), "owner", leader.owner(), "value", leader.value(), "token",
                Long.toString(leader.token())));
    }

    private static LockOptions options(JsonObject c) {
        LockOptions o = LockOptions.defaults();
        o = c.has("mode") ? o.mode(text(c, "mode").equals("shared") ? Mode.SHARED : Mode.EXCLUSIVE) : o;
        o = c.has("permits") ? o.permits(c.get("permits").getAsInt()) : o;
        o = c.has("limit") ? o.limit(c.get("limit").getAsLong()) : o;
        o = c.has("metadata") ? o.metadata(metadata(c)) : o;
        o = c.has("ephemeral") ? o.ephemeral(flag(c, "ephemeral")) : o;
        o = c.has("renew") ? o.renew(flag(c, "renew")) : o;
        o = c.has("reentrant") ? o.reentrant(flag(c, "reentrant")) : o;
        o = c.has("confirm") ? o.confirmLoss(flag(c, "confirm")) : o;
        o = c.has("ttl_ms") ? o.ttl(millis(c, "ttl_ms")) : o;
        o = c.has("wait_ms") ? o.waitFor(millis(c, "wait_ms")) : o;
        o = c.has("min_hold_ms") ? o.minHold(millis(c, "min_hold_ms")) : o;
        o = c.has("max_hold_ms") ? o.maxHold(millis(c, "max_hold_ms")) : o;
        o = c.has("delay_ms") ? o.delay(millis(c, "delay_ms")) : o;
        return c.has("cached_ms") ? o.cache(millis(c, "cached_ms")) : o;
    }

    private static String text(JsonObject c, String name) {
        return c.has(name) ? c.get(name).getAsString() : "";
    }

    private static boolean flag(JsonObject c, String name) {
        return c.has(name) && c.get(name).getAsBoolean();
    }

    private static Duration millis(JsonObject c, String name) {
        return Duration.ofMillis(c.get(name).getAsLong());
    }

    private static long token(JsonObject c) {
        return Long.parseLong(text(c, "token"));
    }

    private static Map<String, String> metadata(JsonObject c) {
        return c.has("metadata")
                ? GSON.fromJson(c.get("metadata"), new TypeToken<Map<String, String>>() {}.getType())
                : Map.of();
    }

    private static List<String> names(JsonObject c) {
        return Arrays.asList(GSON.fromJson(c.get("names"), String[].class));
    }

    private Client client(JsonObject c) {
        return find(clients, text(c, "client")).client;
    }

    private Object held(JsonObject c) {
        return find(locks, text(c, "lock"));
    }

    private Lock lock(JsonObject c) {
        return held(c) instanceof Leadership leadership ? leadership.lock() : (Lock) held(c);
    }

    private static <T> T find(Map<String, T> all, String name) {
        T found = all.get(name);
        if (found == null) {
            throw new IllegalArgumentException("there is no " + name);
        }
        return found;
    }

    /** What a call does that has no result. */
    private interface Action {
        void run() throws Exception;
    }

    private static Map<String, Object> done(Action action) throws Exception {
        action.run();
        return Map.of();
    }

    private static void background(Action action) {
        Thread thread = new Thread(() -> {
            try {
                action.run();
            } catch (Exception e) {
                System.err.println("driver: " + e);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns the time of CLOCK_MONOTONIC in nanoseconds. */
    private static String now() {
        return Long.toString(System.nanoTime());
    }

    /** Writes a line at once. The runner reads all the time, so that this does not block for long. */
    private void write(Map<String, Object> line) {
        byte[] bytes = (GSON.toJson(line) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) {
            try {
                out.write(bytes);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
