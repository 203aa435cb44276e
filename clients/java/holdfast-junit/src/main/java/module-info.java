import org.jspecify.annotations.NullMarked;

/** Holdfast nodes for tests, with an extension of JUnit 5: {@link io.github.holdfastio.holdfast.junit.HoldfastTest}. */
@NullMarked
module io.github.holdfastio.holdfast.junit {
    requires transitive io.github.holdfastio.holdfast;
    requires transitive org.junit.jupiter.api;
    requires static transitive org.jspecify;

    exports io.github.holdfastio.holdfast.junit;
}
