package io.github.holdfastio.holdfast;
import io.github.holdfastio.holdfast.fence.Claim;
import io.nats.client.Connection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.jspecify.annotations.Nullable;

/** Locks of one owner over a connection. */
public final class Client implements AutoCloseable {
    Client() {}
    /** Work under what is held. */
    @FunctionalInterface public interface Work<H, T extends @Nullable Object> {
        abstract T run(H held) throws Exception;
    }
    public String owner() { throw new UnsupportedOperationException(); }
    public Lock lock(String name) throws InterruptedException { throw new UnsupportedOperationException(); }
    public Lock lock(String name, LockOptions options) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Lock> lockAsync(String name, LockOptions options) { throw new UnsupportedOperationException(); }
    public Optional<Lock> tryLock(String name) throws InterruptedException { throw new UnsupportedOperationException(); }
    public Optional<Lock> tryLock(String name, LockOptions options) throws InterruptedException { throw new UnsupportedOperationException(); }
    public <T extends @Nullable Object> T withLock(String name, LockOptions options, Work<? super Lock, T> work) throws Exception { throw new UnsupportedOperationException(); }
    public Locks lockAll(Collection<String> names, LockOptions options) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Locks> lockAllAsync(Collection<String> names, LockOptions options) { throw new UnsupportedOperationException(); }
    public <T extends @Nullable Object> T withLocks(Collection<String> names, LockOptions options, Work<? super Locks, T> work) throws Exception { throw new UnsupportedOperationException(); }
    public Leadership campaign(String name, String value, LockOptions options) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CompletableFuture<Leadership> campaignAsync(String name, String value, LockOptions options) { throw new UnsupportedOperationException(); }
    public Leader leader(String name) throws InterruptedException { throw new UnsupportedOperationException(); }
    public Observation observe(String name) throws InterruptedException { throw new UnsupportedOperationException(); }
    public Watch watch(String pattern) throws InterruptedException { throw new UnsupportedOperationException(); }
    public LockState get(String name) throws InterruptedException { throw new UnsupportedOperationException(); }
    public List<Lease> list(String pattern) throws InterruptedException { throw new UnsupportedOperationException(); }
    public List<HeldBack> lost(String pattern) throws InterruptedException { throw new UnsupportedOperationException(); }
    public void breakLock(String name, long token, String reason) throws InterruptedException { throw new UnsupportedOperationException(); }
    public void confirm(String name, long token, String by, String how) throws InterruptedException { throw new UnsupportedOperationException(); }
    public List<WaitQueue> longestQueues(String pattern, int limit) throws InterruptedException { throw new UnsupportedOperationException(); }
    public List<WaitQueue> longestWaits(String pattern, int limit) throws InterruptedException { throw new UnsupportedOperationException(); }
    public List<Lease> longestHolds(String pattern, int limit) throws InterruptedException { throw new UnsupportedOperationException(); }
    public CacheStats cacheStats() { throw new UnsupportedOperationException(); }
    public java.util.concurrent.locks.Lock javaLock(String name, LockOptions options) { throw new UnsupportedOperationException(); }
    @Override public void close() { throw new UnsupportedOperationException(); }
}
