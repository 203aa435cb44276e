package io.github.holdfastio.holdfast.fence.file;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What {@link Directory#run} does in one step with the check of the claim.
 *
 * @param <T> what it returns
 */
@FunctionalInterface
public interface Change<T extends @Nullable Object> {
    /**
     * Changes the directory. All others wait meanwhile. It must leave {@code .fence} alone and not call the guard, and
     * is as durable as it makes itself.
     *
     * @param directory what is guarded
     * @return the result
     * @throws IOException if it fails; the mark stays raised
     */
    T apply(Path directory) throws IOException;
}
