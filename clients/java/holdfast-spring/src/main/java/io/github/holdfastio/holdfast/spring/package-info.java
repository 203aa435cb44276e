/**
 * The locks of Holdfast for Spring Integration, and auto-configuration of Spring Boot.
 *
 * <p>With this artifact on the class path an application of Spring Boot has a
 * {@link io.github.holdfastio.holdfast.Client}, by the properties of
 * {@link io.github.holdfastio.holdfast.spring.HoldfastProperties}, such as
 * {@code holdfast.servers=nats://n1.example.com,nats://n2.example.com}. Without servers it is on the connection of the
 * application, if there is one. If Spring Integration is there, too, the application has a
 * {@link io.github.holdfastio.holdfast.spring.HoldfastLockRegistry}. A bean of the application of the same type takes
 * the place of either.
 *
 * <p>A lock of the registry has no fencing token: what it protects must not depend on it alone. Where that matters, use
 * the client and a guard of {@code io.github.holdfastio.holdfast.fence}.
 */
@NullMarked
package io.github.holdfastio.holdfast.spring;

import org.jspecify.annotations.NullMarked;
