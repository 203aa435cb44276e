package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** Several locks. */
public final class Locks implements AutoCloseable {
    Locks() {}
    public List<Lock> all() { throw new UnsupportedOperationException(); }
    public Lock lock(String name) { throw new UnsupportedOperationException(); }
    public List<Claim> claims() { throw new UnsupportedOperationException(); }
    public boolean isHeld() { throw new UnsupportedOperationException(); }
    public Duration remaining() { throw new UnsupportedOperationException(); }
    public @Nullable LossReason reason() { throw new UnsupportedOperationException(); }
    public void check() { throw new UnsupportedOperationException(); }
    public void onLost(Consumer<? super LostException> action) { throw new UnsupportedOperationException(); }
    public void extend(Duration ttl) throws InterruptedException { throw new UnsupportedOperationException(); }
    public void release() throws InterruptedException { throw new UnsupportedOperationException(); }
    @Override public void close() { throw new UnsupportedOperationException(); }
}
