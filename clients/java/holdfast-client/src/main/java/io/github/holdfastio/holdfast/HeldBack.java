package io.github.holdfastio.holdfast;

import java.time.Duration;

/**
 * A lost lease that holds its resource back: nothing is granted to another owner until its delay is over.
 *
 * @param lease the lease as it ended
 * @param left how long the resource is held back at most; zero: until the loss is confirmed
 */
public record HeldBack(Lease lease, Duration left) {}
