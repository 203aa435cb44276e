/** Locks with fencing tokens over NATS: {@link io.github.holdfastio.holdfast.Client} acquires them. */
package io.github.holdfastio.holdfast;
