package io.github.holdfastio.holdfast.shedlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.Holdfast;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** A process with a task, which the test kills or pauses. */
final class Holder implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    private Holder(Process process) {
        this.process = process;
        this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    }

    /** Starts a process that holds the lock when this returns. */
    static Holder start(String url, String name, Duration atMost) throws IOException {
        Holder holder = new Holder(new ProcessBuilder("java", "-cp", System.getProperty("java.class.path"),
                        Holder.class.getName(), url, name, atMost.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
        String line = holder.line();
        if (!"held".equals(line)) {
            holder.close();
            throw new IOException("the process says " + line);
        }
        return holder;
    }

    String line() throws IOException {
        return output.readLine();
    }

    /** Has the task end. */
    void endTask() throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
    }

    void signal(String signal) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).inheritIO().start().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** The task: it holds the lock until a line of its input, tries to extend it, and unlocks it. */
    public static void main(String[] arguments) throws Exception {
        try (Client client = Holdfast.connect(arguments[0])) {
            SimpleLock lock = new HoldfastLockProvider(client)
                    .lock(new LockConfiguration(
                            Instant.now(), arguments[1], Duration.parse(arguments[2]), Duration.ZERO))
                    .orElseThrow();
            System.out.println("held");
            System.in.read();
            boolean extended = lock.extend(Duration.ofMinutes(1), Duration.ZERO).isPresent();
            System.out.println(extended ? "extended" : "lost");
        }
        System.exit(0);
    }
}
