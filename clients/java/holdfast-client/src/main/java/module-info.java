import org.jspecify.annotations.NullMarked;

/** Locks with fencing tokens over NATS: the client of Holdfast. */
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
