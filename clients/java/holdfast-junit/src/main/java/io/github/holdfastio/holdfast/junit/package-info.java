/**
 * Holdfast nodes for tests, and what the code of an application has to stand: the loss of a lock, and a service that is
 * slow or gone.
 *
 * <p>{@link io.github.holdfastio.holdfast.junit.HoldfastTest} gives the tests of a class a
 * {@link io.github.holdfastio.holdfast.junit.Server} and a client; without JUnit's extension
 * {@link io.github.holdfastio.holdfast.junit.Server#create Server.create} starts a node.
 *
 * <p>The node is the real binary: the variable {@code HOLDFAST_BINARY} names it, or it is in the PATH as
 * {@code holdfast}.
 */
package io.github.holdfastio.holdfast.junit;
