package io.github.holdfastio.holdfast.internal;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One request on its way. */
final class Attempt {
    final long id;
    final Route route;
    final byte[] payload;
    /** Is called with the answer; null: none is expected. */
    final @Nullable Consumer<Answer> receive;

    final long sent;
    /** It is not published yet. */
    boolean queued = true;
    /** The number of the batch in which it was sent; 0: it was sent alone, or not yet. */
    long batch;
    /** The open attempts on its subject at each denial there. */
    List<List<Attempt>> denials = List.of();

    Attempt(long id, Route route, byte[] payload, @Nullable Consumer<Answer> receive, long sent) {
        this.id = id;
        this.route = route;
        this.payload = payload;
        this.receive = receive;
        this.sent = sent;
    }
}
