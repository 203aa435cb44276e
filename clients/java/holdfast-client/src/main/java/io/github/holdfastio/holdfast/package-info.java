/**
 * Locks with fencing tokens over NATS.
 *
 * <p>{@link io.github.holdfastio.holdfast.Holdfast#connect(String)} makes a
 * {@link io.github.holdfastio.holdfast.Client}, one for a process. It acquires a
 * {@link io.github.holdfastio.holdfast.Lock}, renews it, and releases it at the end of a block:
 *
 * <pre>{@code
 * try (Client client = Holdfast.connect("nats://n1.example.com,nats://n2.example.com");
 *         Lock lock = client.lock("orders.42")) {
 *     write(lock.fence());
 * }
 * }</pre>
 *
 * <p><b>A lock is a lease.</b> It ends when its holder is paused or cut off for longer than its TTL, without a notice to
 * the holder. So the protected resource refuses a {@link io.github.holdfastio.holdfast.Lock#fence fence} below the
 * highest that it has seen; the package {@link io.github.holdfastio.holdfast.fence} does it for common stores. What the
 * client knows of a loss it says before another holder can get the lock by expiry:
 * {@link io.github.holdfastio.holdfast.Client#withLock withLock} interrupts its thread,
 * {@link io.github.holdfastio.holdfast.Lock#onLost onLost} calls a function, and
 * {@link io.github.holdfastio.holdfast.Lock#isHeld isHeld} and {@link io.github.holdfastio.holdfast.Lock#check check}
 * look at the monotonic clock.
 *
 * <p><b>Threads.</b> A client, its locks and all other objects that it returns may be used by any thread, platform or
 * virtual, unless their documentation says otherwise. No lock belongs to a thread: who locks what he holds waits for
 * himself, unless {@link io.github.holdfastio.holdfast.LockOptions#reentrant reentrant} is set. Functions of the
 * application run in the executor of the client, and may block.
 *
 * <p><b>Interruption.</b> A method that waits throws {@link java.lang.InterruptedException} and leaves nothing held. The
 * {@code close} methods do not: they return early, and the thread stays interrupted. To cancel a future has the effect
 * of an interrupt.
 *
 * <p><b>Errors.</b> All are unchecked {@link io.github.holdfastio.holdfast.HoldfastException}s, with the codes of all
 * clients of Holdfast. After {@link io.github.holdfastio.holdfast.UnavailableException} the call had no effect; after
 * {@link io.github.holdfastio.holdfast.UnknownOutcomeException} it may have had its effect. The client repeats what is
 * not answered, so the application need not.
 *
 * <p><b>Options</b> cannot be changed: each method returns a copy. Times are a {@link java.time.Duration}, of whole
 * milliseconds where they are sent to the service.
 */
package io.github.holdfastio.holdfast;
