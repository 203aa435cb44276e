import org.jspecify.annotations.NullMarked;

/**
 * Locks with fencing tokens over NATS: the client of Holdfast.
 *
 * <p>{@link io.github.holdfastio.holdfast} has the client and its locks, {@link io.github.holdfastio.holdfast.fence} what
 * is shown to protected resources, with guards for databases and files. The module {@code java.sql} is needed for
 * {@link io.github.holdfastio.holdfast.fence.jdbc} only. Types are nullable where JSpecify's annotation says so; at run
 * time its module need not be there.
 */
@NullMarked
module io.github.holdfastio.holdfast {
    requires transitive io.nats.jnats;
    requires static transitive org.jspecify;
    requires static transitive java.sql;

    exports io.github.holdfastio.holdfast;
    exports io.github.holdfastio.holdfast.fence;
    exports io.github.holdfastio.holdfast.fence.file;
    exports io.github.holdfastio.holdfast.fence.jdbc;
}
