/** The locks of Holdfast for Spring Integration, and auto-configuration of Spring Boot. */
@NullMarked
package io.github.holdfastio.holdfast.spring;

import org.jspecify.annotations.NullMarked;
