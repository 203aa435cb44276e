package io.github.holdfastio.holdfast.fence.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * What {@link Guard#run} does in a transaction that has raised the mark.
 *
 * @param <T> what it returns
 */
@FunctionalInterface
public interface Transaction<T extends @Nullable Object> {
    /**
     * Reads and writes. What it writes depends only on what it reads here.
     *
     * @param connection in a transaction, which the guard commits or rolls back
     * @return the result
     * @throws SQLException if the database refuses a statement; everything is rolled back
     */
    T execute(Connection connection) throws SQLException;
}
