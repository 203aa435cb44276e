package io.github.holdfastio.holdfast.fence.file;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.Claimant;
import io.github.holdfastio.holdfast.fence.MalformedMarkException;
import io.github.holdfastio.holdfast.fence.Rule;
import io.github.holdfastio.holdfast.fence.StaleClaimException;
import io.github.holdfastio.holdfast.fence.UnknownWriteException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * A guarded directory. It cannot be changed, holds nothing open, and may be used by many threads and processes.
 *
 * <pre>{@code
 * Directory orders = Directory.open(Path.of("/srv/orders"));
 * orders.write(lock, "42.txt", content);
 * }</pre>
 *
 * <p>A thread that is interrupted while it waits for its turn has written nothing.
 */
public final class Directory {
    // The names are those of clients/fence/fencefile.
    private static final String CONTROL = ".fence";
    private static final String LOCK = "lock";
    private static final String NEW = "new";

    private static final Set<PosixFilePermission> MARK_PERMISSIONS = PosixFilePermissions.fromString("rw-rw-rw-");
    private static final Set<PosixFilePermission> LOCK_PERMISSIONS = PosixFilePermissions.fromString("rw-rw----");

    /** More bytes than any mark has. */
    private static final int MAX_MARK = 2048;

    private static final int SHOWN = 600;

    private final Path path;
    private final Rule rule;
    private final Set<PosixFilePermission> permissions;

    /** Free while no thread is at the lock file, so that they do not wait there with a process each. */
    private final Semaphore turn;

    private Directory(Path path, Rule rule, Set<PosixFilePermission> permissions, Semaphore turn) {
        this.path = path;
        this.rule = rule;
        this.permissions = permissions;
        this.turn = turn;
    }

    /**
     * Returns the guard of a directory, with the rule {@link Rule#REPEATABLE} and the permissions {@code rw-r--r--}.
     *
     * @param path the directory, which must exist
     * @return the guard
     * @throws NoSuchFileException if there is no such directory
     * @throws IOException if it is none, or {@code .fence} in it is none
     */
    public static Directory open(Path path) throws IOException {
        Path absolute = path.toAbsolutePath();
        try (Folder root = Folder.open(absolute)) {
            try {
                Files.createDirectory(absolute.resolve(CONTROL));
            } catch (FileAlreadyExistsException e) {
                // another guard has made it
            }
            openControl(root).close();
            root.sync();
        } catch (NoSuchFileException e) {
            throw new NoSuchFileException(absolute.toString(), null, "create it with: mkdir -p " + absolute);
        }
        return new Directory(absolute, Rule.REPEATABLE, PosixFilePermissions.fromString("rw-r--r--"),
                new Semaphore(1, true));
    }

    /**
     * Returns this guard with another rule.
     *
     * @param rule which tokens pass
     * @return another guard of the directory
     */
    public Directory withRule(Rule rule) {
        return new Directory(path, rule, permissions, turn);
    }

    /**
     * Returns this guard with other permissions of the files that it writes.
     *
     * @param permissions those of each file, before umask
     * @return another guard of the directory
     */
    public Directory withPermissions(Set<PosixFilePermission> permissions) {
        return new Directory(path, rule, Set.copyOf(permissions), turn);
    }

    /**
     * Returns the directory.
     *
     * @return an absolute path
     */
    public Path path() {
        return path;
    }

    /**
     * Replaces a file, or creates it. When it returns, the content is on disk. Readers see the old content or the new,
     * also after a crash.
     *
     * @param claimant the lock, or its claim
     * @param name a path inside the directory, with / between names, in whose directories no symbolic link may be; a
     *     symbolic link of that name is replaced
     * @param content what the file is to contain
     * @throws StaleClaimException if the claim was refused; nothing was written
     * @throws InvalidException if the claim or the name breaks a rule; nothing was written
     * @throws MalformedMarkException if the mark of the resource is not one; nothing was written
     * @throws UnknownWriteException if the file was written, and a crash may undo it
     * @throws IOException if the file was not written
     * @throws InterruptedException if the thread was interrupted before its turn; nothing was written
     */
    public void write(Claimant claimant, String name, byte[] content) throws IOException, InterruptedException {
        change(claimant.claim(), name, at -> {
            replace(at, at.parent, at.name, content, permissions);
            return null;
        });
    }

    /**
     * Replaces a file by what the modification makes of its content. Reading and writing are one step with the check,
     * so no other change is lost.
     *
     * @param claimant the lock, or its claim
     * @param name as for {@link #write}; a symbolic link of that name is an error
     * @param modification makes the new content
     * @throws StaleClaimException if the claim was refused; nothing was written
     * @throws InvalidException if the claim or the name breaks a rule; nothing was written
     * @throws MalformedMarkException if the mark of the resource is not one; nothing was written
     * @throws UnknownWriteException if the file was written, and a crash may undo it
     * @throws IOException if the file was not written
     * @throws InterruptedException if the thread was interrupted before its turn; nothing was written
     */
    public void modify(Claimant claimant, String name, Modification modification)
            throws IOException, InterruptedException {
        change(claimant.claim(), name, at -> {
            byte[] content = modification.apply(at.parent.content(at.name, Integer.MAX_VALUE));
            replace(at, at.parent, at.name, content, permissions);
            return null;
        });
    }

    /**
     * Removes a file. When it returns, the removal is on disk.
     *
     * @param claimant the lock, or its claim
     * @param name as for {@link #write}
     * @throws StaleClaimException if the claim was refused; nothing was removed
     * @throws InvalidException if the claim or the name breaks a rule; nothing was removed
     * @throws MalformedMarkException if the mark of the resource is not one; nothing was removed
     * @throws UnknownWriteException if the file was removed, and a crash may undo it
     * @throws NoSuchFileException if there is no file; the mark is raised nevertheless
     * @throws IOException if the file was not removed
     * @throws InterruptedException if the thread was interrupted before its turn; nothing was removed
     */
    public void remove(Claimant claimant, String name) throws IOException, InterruptedException {
        change(claimant.claim(), name, at -> {
            at.lock.check();
            at.parent.remove(at.name);
            at.parent.settle();
            return null;
        });
    }

    /**
     * Raises the mark that all changes check, and leaves the files as they are.
     *
     * @param claimant the lock, or its claim
     * @throws StaleClaimException if the claim was refused
     * @throws MalformedMarkException if the mark of the resource is not one
     * @throws IOException if the mark was not raised
     * @throws InterruptedException if the thread was interrupted before its turn
     */
    public void raise(Claimant claimant) throws IOException, InterruptedException {
        change(claimant.claim(), null, at -> null);
    }

    /**
     * Makes a change of the directory in one step with the check.
     *
     * @param <T> what the change returns
     * @param claimant the lock, or its claim
     * @param change what is done; if it throws, the mark stays raised
     * @return what the change returned
     * @throws StaleClaimException if the claim was refused; the change was not called
     * @throws MalformedMarkException if the mark of the resource is not one; the change was not called
     * @throws IOException if the mark was not raised, or the change failed
     * @throws InterruptedException if the thread was interrupted before its turn; the change was not called
     */
    public <T extends @Nullable Object> T run(Claimant claimant, Change<T> change)
            throws IOException, InterruptedException {
        return change(claimant.claim(), null, at -> change.apply(path));
    }

    /** Where a change is: everything is opened anew, so that lock, mark and file are in one directory. */
    private record Place(LockFile lock, Folder control, Folder parent, String name) {}

    private interface Step<T extends @Nullable Object> {
        T make(Place at) throws IOException;
    }

    private <T extends @Nullable Object> T change(Claim claim, @Nullable String name, Step<T> step)
            throws IOException, InterruptedException {
        turn.acquire();
        try (Folder root = Folder.open(path);
                Folder control = openControl(root);
                LockFile lock = lock(root, control);
                Folder parent = name == null ? root.again() : parentOf(root, control, name)) {
            String base = name == null ? "" : name.substring(name.lastIndexOf('/') + 1);
            Place at = new Place(lock, control, parent, base);
            raise(at, claim);
            return step.make(at);
        } finally {
            turn.release();
        }
    }

    private LockFile lock(Folder root, Folder control) throws IOException, InterruptedException {
        try {
            control.create(LOCK, new byte[0], LOCK_PERMISSIONS);
        } catch (FileAlreadyExistsException e) {
            // as it is from the second change on
        }
        BasicFileAttributes file = control.attributes(LOCK);
        if (file == null || !file.isRegularFile()) {
            throw new IOException(path.resolve(CONTROL).resolve(LOCK) + " is not a regular file; move it away");
        }
        LockFile lock = LockFile.acquire(path.resolve(CONTROL).resolve(LOCK));
        try (Folder present = Folder.open(path)) {
            if (!control.has(LOCK, file)
                    || !root.has(CONTROL, control.attributes())
                    || !present.attributes().fileKey().equals(root.attributes().fileKey())) {
                throw new IOException(path + " or its " + CONTROL + " was moved while it was locked; do not move it");
            }
            return lock;
        } catch (Throwable e) {
            lock.close();
            throw e;
        }
    }

    private static Folder openControl(Folder root) throws IOException {
        BasicFileAttributes control = root.attributes(CONTROL);
        if (control == null || !control.isDirectory()) {
            throw new IOException(CONTROL + " is not a directory; move it away");
        }
        return root.open(CONTROL);
    }

    /** Opens the directory of a file. Directories are compared as such, because one may have many names. */
    private static Folder parentOf(Folder root, Folder control, String name) throws IOException {
        String[] parts = name.split("/", -1);
        String base = parts[parts.length - 1];
        if (name.startsWith("/") || Set.of("", ".", "..").contains(base) || Arrays.asList(parts).contains("..")) {
            throw invalid(name, "it must be a path inside the directory, without ..");
        }
        Folder parent = root.again();
        try {
            for (String directory : Arrays.asList(parts).subList(0, parts.length - 1)) {
                Folder inner = inner(parent, directory, name);
                parent.close();
                parent = inner;
            }
            BasicFileAttributes own = control.attributes();
            if (parent.attributes().fileKey().equals(own.fileKey()) || parent.has(base, own)) {
                throw invalid(name, CONTROL + " belongs to the guard");
            }
            return parent;
        } catch (InvalidPathException e) {
            parent.close();
            throw invalid(name, e.getReason());
        } catch (Throwable e) {
            parent.close();
            throw e;
        }
    }

    private static Folder inner(Folder parent, String directory, String name) throws IOException {
        if (directory.isEmpty() || directory.equals(".")) {
            return parent.again();
        }
        BasicFileAttributes attributes = parent.attributes(directory);
        if (attributes != null && attributes.isSymbolicLink()) {
            throw invalid(name, directory + " is a symbolic link; write to what it points to");
        }
        return parent.open(directory);
    }

    private static InvalidException invalid(String name, String message) {
        return new InvalidException("file name \"" + name + "\": " + message, "fence", "", null);
    }

    /** Checks the claim and raises its mark. When it returns, the mark is on disk. */
    private void raise(Place at, Claim claim) throws IOException {
        String mark = HexFormat.of().formatHex(sha256(claim.resource()));
        long highest = highest(at.control, mark, claim.resource());
        rule.check(claim, highest);
        try {
            if (claim.token() == highest) {
                at.control.settle(); // its writer may have died before it was on disk
            } else {
                byte[] content = (claim.fence() + '\n' + claim.resource() + '\n').getBytes(UTF_8);
                replace(at, at.control, mark, content, MARK_PERMISSIONS);
            }
        } catch (UnknownWriteException e) {
            throw new IOException("a crash may undo the mark, so the change was not made", e.getCause());
        }
    }

    /** Returns the token in a mark, 0 if there is none. */
    private static long highest(Folder control, String mark, String resource) throws IOException {
        byte[] content = control.content(mark, MAX_MARK);
        if (content == null) {
            return 0;
        }
        String text = new String(content, UTF_8);
        String[] parts = text.split("\n", 2);
        try {
            Claim claim = Claim.of(resource, parts[0]);
            if (Arrays.equals(content, (claim.fence() + '\n' + resource + '\n').getBytes(UTF_8))) {
                return claim.token();
            }
        } catch (InvalidException e) {
            // no token
        }
        throw new MalformedMarkException(CONTROL + '/' + mark + ", of \"" + resource + "\", is not a mark: \""
                + text.substring(0, Math.min(text.length(), SHOWN)) + "\"; if the highest token is known, write it "
                + "there in 15 digits, and the resource on the second line", null);
    }

    private static byte[] sha256(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("each Java has it", e);
        }
    }

    /** Puts a new file in the place of another one, so that a crash leaves the old one or the new one. */
    private static void replace(
            Place at, Folder parent, String name, byte[] content, Set<PosixFilePermission> permissions)
            throws IOException {
        at.lock.check(); // mutant: JavaWritesWithoutTheLock
        try {
            at.control.remove(NEW); // there is one writer at a time: it removes what a crash has left
        } catch (NoSuchFileException e) {
            // as it should be
        }
        at.control.create(NEW, content, permissions);
        at.lock.check(); // mutant: JavaWritesWithoutTheLock
        at.control.rename(NEW, parent, name);
        parent.settle();
    }
}
