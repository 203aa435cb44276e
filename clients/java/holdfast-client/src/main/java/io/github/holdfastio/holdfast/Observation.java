package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** Leaders. */
public final class Observation implements AutoCloseable {
    Observation() {}
    public Leader next() throws InterruptedException { throw new UnsupportedOperationException(); }
    public @Nullable Leader next(Duration timeout) throws InterruptedException { throw new UnsupportedOperationException(); }
    @Override public void close() { throw new UnsupportedOperationException(); }
}
