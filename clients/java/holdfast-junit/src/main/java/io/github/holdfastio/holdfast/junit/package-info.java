/**
 * Holdfast nodes for tests, and what the code of an application has to stand: the loss of a lock, and a service that is
 * slow or gone.
 *
 * <p>The node is the real binary: the variable {@code HOLDFAST_BINARY} names it, or it is in the PATH as
 * {@code holdfast}.
 */
package io.github.holdfastio.holdfast.junit;
