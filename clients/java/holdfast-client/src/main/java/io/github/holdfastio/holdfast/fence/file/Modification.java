package io.github.holdfastio.holdfast.fence.file;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** What {@link Directory#modify} makes of the content of a file. */
@FunctionalInterface
public interface Modification {
    /**
     * Returns the new content. All others wait meanwhile. It must not call the guard.
     *
     * @param old the content of the file; null: there is no file
     * @return the new content
     * @throws IOException if it fails; the file stays as it is, and the mark is raised
     */
    byte[] apply(byte @Nullable [] old) throws IOException;
}
