/** Scheduled tasks of ShedLock under the locks of Holdfast. */
@NullMarked
package io.github.holdfastio.holdfast.shedlock;

import org.jspecify.annotations.NullMarked;
