package io.github.holdfastio.holdfast.fence.file;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.MalformedMarkException;
import io.github.holdfastio.holdfast.fence.StaleClaimException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class DirectoryTest {
    private static final Claim EARLIER = new Claim("orders", 33);
    private static final Claim CLAIM = new Claim("orders", 34);

    @TempDir
    private Path path;

    private Directory directory;

    @BeforeEach
    void open() throws IOException {
        directory = Directory.open(path);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    @Test
    void writesModifiesAndRemoves() throws Exception {
        directory.write(CLAIM, "42.txt", bytes("one"));
        directory.modify(CLAIM, "42.txt", old -> bytes(new String(old, UTF_8) + " two"));
        assertEquals("one two", Files.readString(path.resolve("42.txt")));
        assertEquals("rw-r--r--", PosixFilePermissions.toString(Files.getPosixFilePermissions(path.resolve("42.txt"))));
        directory.modify(CLAIM, "new.txt", old -> {
            assertNull(old);
            return bytes("new");
        });
        directory.remove(CLAIM, "42.txt");
        assertFalse(Files.exists(path.resolve("42.txt")));
        assertThrows(NoSuchFileException.class, () -> directory.remove(CLAIM, "42.txt"));
        assertEquals(path, directory.run(CLAIM, at -> at));
        directory.withPermissions(PosixFilePermissions.fromString("rw-------")).write(CLAIM, "secret", bytes(""));
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path.resolve("secret"))));
    }

    @Test
    void refusesAnEarlierHolder() throws Exception {
        directory.write(CLAIM, "42.txt", bytes("new"));
        assertThrows(StaleClaimException.class, () -> directory.write(EARLIER, "42.txt", bytes("late")));
        assertThrows(StaleClaimException.class, () -> directory.run(EARLIER, at -> Files.createFile(at.resolve("x"))));
        assertEquals("new", Files.readString(path.resolve("42.txt")));
        assertFalse(Files.exists(path.resolve("x")));
    }

    @Test
    void refusesNamesOutsideAndItsOwn() throws Exception {
        Path outside = Files.createDirectory(path.resolveSibling(path.getFileName() + "-outside"));
        Files.createSymbolicLink(path.resolve("link"), outside);
        Files.createSymbolicLink(path.resolve("own"), Path.of(".fence"));
        List<String> names = List.of("", ".", "..", "/etc/x", "../x", "a/../../x", "a/", ".fence", ".fence/lock",
                "./.fence/lock", "link/x", "own/x", "a\0b");
        for (String name : names) {
            assertThrows(InvalidException.class, () -> directory.write(CLAIM, name, bytes("x")), name);
        }
        directory.write(EARLIER, "link", bytes("no mark was raised, and a link is replaced"));
        assertTrue(Files.isRegularFile(path.resolve("link")));
        Files.delete(outside);
    }

    @Test
    void readsNeitherLinksNorPipes() throws Exception {
        Files.writeString(path.resolve("target"), "target");
        Files.createSymbolicLink(path.resolve("link"), Path.of("target"));
        assertThrows(IOException.class, () -> directory.modify(CLAIM, "link", old -> bytes("x")));
        assertEquals(0, new ProcessBuilder("mkfifo", path.resolve("pipe").toString()).start().waitFor());
        assertThrows(IOException.class, () -> directory.modify(CLAIM, "pipe", old -> bytes("x")));
        assertEquals("target", Files.readString(path.resolve("target")));
    }

    @Test
    void leavesAMarkAloneThatIsNone() throws Exception {
        directory.raise(CLAIM);
        Path mark;
        try (var files = Files.list(path.resolve(".fence"))) {
            mark = files.filter(file -> file.getFileName().toString().length() == 64).findFirst().orElseThrow();
        }
        assertEquals("000000000000034\norders\n", Files.readString(mark));
        for (String content : List.of("", "34\norders\n", "000000000000034\nother\n", "000000000000000\norders\n",
                "000000000000034\norders\nmore", "900000000000001\norders\n")) {
            Files.writeString(mark, content);
            assertThrows(MalformedMarkException.class, () -> directory.raise(CLAIM), content);
            assertEquals(content, Files.readString(mark));
        }
    }

    @Test
    void isInterruptedWhileItWaits() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<Void> goOn = new CompletableFuture<>();
        CompletableFuture<Void> first = CompletableFuture.runAsync(() -> run(path, begun, goOn));
        begun.await();
        for (Directory each : List.of(directory, Directory.open(path))) { // one waits for the thread, one for the file
            CompletableFuture<Throwable> outcome = new CompletableFuture<>();
            Thread waiting = new Thread(() -> {
                try {
                    each.raise(CLAIM);
                    outcome.complete(null);
                } catch (Throwable e) {
                    outcome.complete(e);
                }
            });
            waiting.start();
            waiting.interrupt();
            assertTrue(outcome.get() instanceof InterruptedException, () -> "got " + outcome.join());
        }
        goOn.complete(null);
        first.get();
        directory.raise(EARLIER); // nothing was written
    }

    private void run(Path at, CountDownLatch begun, CompletableFuture<Void> goOn) {
        try {
            directory.run(new Claim("other", 1), same -> {
                begun.countDown();
                goOn.join();
                return at;
            });
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void writesNothingWhenTheLockWasTakenAway() throws Exception {
        directory.write(EARLIER, "42.txt", bytes("old"));
        IOException lost = assertThrows(IOException.class, () -> directory.modify(CLAIM, "42.txt", old -> {
            ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
            ProcessHandle.current().descendants().forEach(process -> process.onExit().join());
            return bytes("new");
        }));
        assertTrue(lost.getMessage().contains("has ended"), lost.getMessage());
        assertEquals("old", Files.readString(path.resolve("42.txt")));
        directory.write(CLAIM, "42.txt", bytes("again"));
    }

    @Test
    void refusesALinkInThePlaceOfItsFolder() throws Exception {
        Path other = Files.createDirectory(path.resolve("other"));
        Path elsewhere = Files.createDirectory(path.resolve("elsewhere"));
        Files.createSymbolicLink(other.resolve(".fence"), elsewhere);
        assertThrows(IOException.class, () -> Directory.open(other));
        assertThrows(NoSuchFileException.class, () -> Directory.open(path.resolve("missing")));
        Files.createSymbolicLink(elsewhere.resolve("lock"), path.resolve("target"));
        Files.delete(other.resolve(".fence"));
        Files.move(elsewhere, other.resolve(".fence"));
        Directory guarded = Directory.open(other);
        assertThrows(IOException.class, () -> guarded.raise(CLAIM));
        assertFalse(Files.exists(path.resolve("target")));
    }

    @Test
    void changesOneAtATime() throws Exception {
        List<CompletableFuture<Void>> changes = new ArrayList<>();
        for (Directory each : List.of(directory, Directory.open(path), directory, Directory.open(path))) {
            changes.add(CompletableFuture.runAsync(() -> count(each)));
        }
        changes.forEach(CompletableFuture::join);
        assertEquals("20", Files.readString(path.resolve("count")));
    }

    private static void count(Directory directory) {
        try {
            for (int i = 0; i < 5; i++) {
                directory.modify(CLAIM, "count", old -> {
                    int count = old == null ? 0 : Integer.parseInt(new String(old, UTF_8));
                    return bytes(Integer.toString(count + 1));
                });
            }
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
