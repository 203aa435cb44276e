/** What a holder shows to the protected resource. */
package io.github.holdfastio.holdfast.fence;
