/** The parts of a client. All of it runs on the loop of the client, but for what says that any thread may use it. */
package io.github.holdfastio.holdfast.internal;
