/**
 * Scheduled tasks of ShedLock under the locks of Holdfast.
 *
 * <p>{@link io.github.holdfastio.holdfast.shedlock.HoldfastLockProvider} is a lock provider, to be given to ShedLock in
 * place of any other; with Spring it is a bean:
 *
 * <pre>{@code
 * @Bean
 * LockProvider lockProvider(Client client) {
 *     return new HoldfastLockProvider(client);
 * }
 * }</pre>
 *
 * <p>A task does not get the fencing token of its lock. One whose writes must be refused after the end of its lease
 * uses a {@link io.github.holdfastio.holdfast.Client} instead.
 */
@NullMarked
package io.github.holdfastio.holdfast.shedlock;

import org.jspecify.annotations.NullMarked;
