package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** A lock. */
public final class Lock implements AutoCloseable {
    Lock() {}
    public String name() { throw new UnsupportedOperationException(); }
    public String owner() { throw new UnsupportedOperationException(); }
    public long token() { throw new UnsupportedOperationException(); }
    public String fence() { throw new UnsupportedOperationException(); }
    public List<Integer> slots() { throw new UnsupportedOperationException(); }
    public Claim claim() { throw new UnsupportedOperationException(); }
    public Claim claim(int slot) { throw new UnsupportedOperationException(); }
    public Map<String, String> metadata() { throw new UnsupportedOperationException(); }
    public boolean isHeld() { throw new UnsupportedOperationException(); }
    public Duration remaining() { throw new UnsupportedOperationException(); }
    public @Nullable LossReason reason() { throw new UnsupportedOperationException(); }
    public void check() { throw new UnsupportedOperationException(); }
    public void onLost(Consumer<? super LostException> action) { throw new UnsupportedOperationException(); }
    public boolean awaitWanted(Duration timeout) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Void> wantedAsync() { throw new UnsupportedOperationException(); }
    public void extend(Duration ttl) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Void> extendAsync(Duration ttl) { throw new UnsupportedOperationException(); }
    public void setMetadata(Map<String, String> metadata) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Void> setMetadataAsync(Map<String, String> metadata) { throw new UnsupportedOperationException(); }
    public void release() throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Void> releaseAsync() { throw new UnsupportedOperationException(); }
    @Override public void close() { throw new UnsupportedOperationException(); }
}
