package io.github.holdfastio.holdfast.fence.file;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;

/**
 * A lock on a file by {@code flock(2)}, in a process that holds it until its input ends: with {@link #close}, or with
 * this process. It echoes what it reads once it has the lock.
 */
final class LockFile implements Closeable {
    /** The signals that reach all processes of a group must not end the lock before this process. */
    private static final String HOLD = "trap '' HUP INT QUIT TERM; exec flock -x \"$0\" cat";

    private static final int ECHO = '\n';
    private static final int MAX_PROBLEM = 1000;

    /** How often it is looked whether the lock is there, in milliseconds: some times the duration of a sync to disk. */
    private static final long RETRY_MILLIS = 2;

    private final Process process;

    private LockFile(Process process) {
        this.process = process;
    }

    /** Waits for the lock on a file that exists. After an exception it is not held. */
    static LockFile acquire(Path path) throws IOException, InterruptedException {
        LockFile lock =
                new LockFile(new ProcessBuilder("sh", "-c", HOLD, path.toString()).redirectErrorStream(true).start());
        try {
            lock.ask();
            InputStream answers = lock.process.getInputStream();
            while (answers.available() == 0 && lock.process.isAlive()) {
                Thread.sleep(RETRY_MILLIS);
            }
            lock.await();
            return lock;
        } catch (Throwable e) {
            lock.close();
            throw e;
        }
    }

    /** Throws unless the lock is held. */
    void check() throws IOException {
        ask();
        await();
    }

    private void ask() throws IOException {
        try {
            process.getOutputStream().write(ECHO);
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw failure(process.getInputStream().readNBytes(MAX_PROBLEM), e);
        }
    }

    private void await() throws IOException {
        int answer = process.getInputStream().read();
        if (answer != ECHO) {
            byte[] rest = process.getInputStream().readNBytes(MAX_PROBLEM);
            throw failure(answer < 0 ? rest : concat((byte) answer, rest), null);
        }
    }

    private static byte[] concat(byte first, byte[] rest) {
        byte[] all = new byte[rest.length + 1];
        all[0] = first;
        System.arraycopy(rest, 0, all, 1, rest.length);
        return all;
    }

    private static IOException failure(byte[] output, IOException cause) {
        String problem = new String(output, UTF_8).strip();
        return new IOException("the process that locks the directory has ended; it needs the commands sh, cat and flock "
                + "of util-linux" + (problem.isEmpty() ? "" : ": " + problem), cause);
    }

    @Override
    public void close() {
        process.destroyForcibly(); // if it still waits
        try {
            process.getOutputStream().close(); // by which the lock is released
        } catch (IOException ignored) {
            // it has ended
        }
        try {
            process.getInputStream().transferTo(OutputStream.nullOutputStream()); // until the lock is released
        } catch (IOException ignored) {
            // it has ended
        }
    }
}
