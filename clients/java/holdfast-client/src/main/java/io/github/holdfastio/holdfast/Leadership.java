package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** A leadership. */
public final class Leadership implements AutoCloseable {
    Leadership() {}
    public Lock lock() { throw new UnsupportedOperationException(); }
    public String value() { throw new UnsupportedOperationException(); }
    public void proclaim(String value) throws InterruptedException { throw new UnsupportedOperationException(); }
    public void resign() throws InterruptedException { throw new UnsupportedOperationException(); }
    @Override public void close() { throw new UnsupportedOperationException(); }
}
