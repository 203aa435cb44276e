package io.github.holdfastio.holdfast.fence.file;

import io.github.holdfastio.holdfast.fence.UnknownWriteException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** An open directory. What it does stays in this directory, even if that is moved, and follows no symbolic link. */
final class Folder implements Closeable {
    private static final Path ITSELF = Path.of(".");

    private final SecureDirectoryStream<Path> stream;

    private Folder(SecureDirectoryStream<Path> stream) {
        this.stream = stream;
    }

    static Folder open(Path path) throws IOException {
        DirectoryStream<Path> stream = Files.newDirectoryStream(path);
        if (stream instanceof SecureDirectoryStream<Path> secure) {
            return new Folder(secure);
        }
        stream.close();
        throw new IOException(path + " is on a system that opens no files relative to a directory; use Unix");
    }

    /** Opens a directory in this one; a symbolic link is an error. */
    Folder open(String name) throws IOException {
        return new Folder(stream.newDirectoryStream(Path.of(name), LinkOption.NOFOLLOW_LINKS));
    }

    /** Opens this directory again. */
    Folder again() throws IOException {
        return new Folder(stream.newDirectoryStream(ITSELF));
    }

    BasicFileAttributes attributes() throws IOException {
        return stream.getFileAttributeView(BasicFileAttributeView.class).readAttributes();
    }

    /** Returns what is known of a file or symbolic link, null if there is none. */
    @Nullable BasicFileAttributes attributes(String name) throws IOException {
        try {
            return stream
                    .getFileAttributeView(Path.of(name), BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .readAttributes();
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Reports if the file of a name is the one that has these attributes. */
    boolean has(String name, BasicFileAttributes file) throws IOException {
        BasicFileAttributes present = attributes(name);
        return present != null && present.fileKey().equals(file.fileKey());
    }

    /** Returns the content of a file, or its first bytes, null if there is no file. It does not wait for a pipe. */
    byte @Nullable [] content(String name, int most) throws IOException {
        BasicFileAttributes attributes = attributes(name);
        if (attributes == null) {
            return null;
        }
        if (!attributes.isRegularFile()) {
            throw new IOException(name + " is not a regular file; move it away");
        }
        try (FileChannel file = open(name, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            return Channels.newInputStream(file).readNBytes(most);
        }
    }

    /** Writes a file that there is not yet, on disk when it returns. */
    void create(String name, byte[] content, Set<PosixFilePermission> permissions) throws IOException {
        Set<OpenOption> options =
                Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS);
        try (FileChannel file = (FileChannel) stream.newByteChannel(Path.of(name), options,
                PosixFilePermissions.asFileAttribute(permissions))) {
            for (ByteBuffer rest = ByteBuffer.wrap(content); rest.hasRemaining(); ) {
                file.write(rest);
            }
            file.force(true);
        }
    }

    void rename(String name, Folder to, String newName) throws IOException {
        stream.move(Path.of(name), to.stream, Path.of(newName));
    }

    void remove(String name) throws IOException {
        stream.deleteFile(Path.of(name));
    }

    /** Brings a change of the names in this directory to disk. The change was made, so an error leaves it open. */
    void settle() {
        try {
            sync();
        } catch (IOException e) {
            throw new UnknownWriteException("the change was made, and a crash may undo it: " + e.getMessage(), e);
        }
    }

    void sync() throws IOException {
        try (FileChannel directory = open(".", Set.of(StandardOpenOption.READ))) {
            directory.force(true);
        }
    }

    private FileChannel open(String name, Set<OpenOption> options) throws IOException {
        return (FileChannel) stream.newByteChannel(Path.of(name), options);
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }
}
