package io.github.holdfastio.conformance;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A server of a database with an empty store of its own, without passwords. */
final class Database implements AutoCloseable {
    private static final int PATIENCE = 60;

    private final String url;
    private final Path folder;
    private final Process process;

    private Database(String url, Path folder, Process process) {
        this.url = url;
        this.folder = folder;
        this.process = process;
    }

    static Database postgresql() throws Exception {
        Path folder = folder();
        String data = folder.resolve("data").toString();
        List<String> as = new ArrayList<>();
        if (isRoot()) { // as whom it refuses to run
            as.addAll(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
            Files.setOwner(folder, folder.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody"));
        }
        carryOut(folder, "", command(as, program("initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
                "--locale=C", "--no-sync"));
        int port = port();
        return started("jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres", folder, command(as,
                program("postgres"), "-D", data, "-h", "127.0.0.1", "-p", Integer.toString(port), "-c", "fsync=off", "-c",
                "unix_socket_directories="));
    }

    static Database mariadb() throws Exception {
        Path folder = folder();
        List<String> server = new ArrayList<>(List.of(program("mariadbd"), "--no-defaults", "--datadir=" + folder,
                "--skip-grant-tables"));
        if (isRoot()) {
            server.add("--user=root");
        }
        carryOut(folder, "CREATE DATABASE test;\n", command(server, "--bootstrap"));
        int port = port();
        return started("jdbc:mariadb://127.0.0.1:" + port + "/test?user=root", folder, command(server,
                "--socket=" + folder.resolve("socket"), "--bind-address=127.0.0.1", "--port=" + port));
    }

    String url() {
        return url;
    }

    private static Path folder() throws IOException {
        return Files.createTempDirectory("database-", PosixFilePermissions.asFileAttribute(
                PosixFilePermissions.fromString("rwx------")));
    }

    private static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    /** Returns where a program is that Debian keeps out of the PATH, or its name. */
    private static String program(String name) throws IOException {
        List<Path> places = new ArrayList<>(List.of(Path.of("/usr/sbin", name)));
        Path versions = Path.of("/usr/lib/postgresql");
        if (Files.isDirectory(versions)) {
            try (Stream<Path> all = Files.list(versions)) {
                all.forEach(version -> places.add(version.resolve("bin").resolve(name)));
            }
        }
        return places.stream().filter(Files::isExecutable).findFirst().map(Path::toString).orElse(name);
    }

    private static int port() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static List<String> command(List<String> start, String... rest) {
        return Stream.concat(start.stream(), Stream.of(rest)).toList();
    }

    private static ProcessBuilder builder(Path folder, List<String> command) {
        return new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("log").toFile());
    }

    private static void carryOut(Path folder, String input, List<String> command) throws Exception {
        Process process = builder(folder, command).start();
        try (OutputStream in = process.getOutputStream()) {
            in.write(input.getBytes(UTF_8));
        }
        if (!process.waitFor(PATIENCE, TimeUnit.SECONDS) || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new IllegalStateException(command + ": " + log(folder));
        }
    }

    private static String log(Path folder) throws IOException {
        return Files.readString(folder.resolve("log"));
    }

    private static Database started(String url, Path folder, List<String> command) throws Exception {
        Database database = new Database(url, folder, builder(folder, command).start());
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        while (true) {
            try {
                DriverManager.getConnection(url).close();
                return database;
            } catch (SQLException e) {
                if (System.nanoTime() > end || database.process.waitFor(100, TimeUnit.MILLISECONDS)) {
                    String log = log(folder);
                    database.close();
                    throw new IllegalStateException(command + ": " + log, e);
                }
            }
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor();
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
