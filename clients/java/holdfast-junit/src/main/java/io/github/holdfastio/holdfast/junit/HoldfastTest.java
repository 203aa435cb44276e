package io.github.holdfastio.holdfast.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives the tests of a class a node. Their parameters may be its {@link Server} and a
 * {@link io.github.holdfastio.holdfast.Client}, which is closed after the test.
 *
 * <pre>{@code
 * @HoldfastTest
 * class ReportTest {
 *     @Test
 *     void stopsWithoutTheLock(Server server, Client client) throws Exception {
 *         Lock lock = client.lock("report");
 *         server.endLease("report");
 *         ...
 *     }
 * }
 * }</pre>
 *
 * <p>After each test the node runs, and grants are not delayed.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(HoldfastExtension.class)
public @interface HoldfastTest {
    /**
     * Whether the classes that say so have one node together, which saves its start. Their tests use different names of
     * locks, and those that make faults do not run at the same time as others.
     *
     * @return false by default: the class has a node of its own
     */
    boolean shared() default false;
}
