package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** Events. */
public final class Watch implements AutoCloseable {
    Watch() {}
    public Event next() throws InterruptedException { throw new UnsupportedOperationException(); }
    public @Nullable Event next(Duration timeout) throws InterruptedException { throw new UnsupportedOperationException(); }
    @Override public void close() { throw new UnsupportedOperationException(); }
}
