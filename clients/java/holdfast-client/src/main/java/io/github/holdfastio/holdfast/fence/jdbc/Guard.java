package io.github.holdfastio.holdfast.fence.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.Claimant;
import io.github.holdfastio.holdfast.fence.FenceException;
import io.github.holdfastio.holdfast.fence.Fence;
import io.github.holdfastio.holdfast.fence.MalformedMarkException;
import io.github.holdfastio.holdfast.fence.Rule;
import io.github.holdfastio.holdfast.fence.StaleClaimException;
import io.github.holdfastio.holdfast.fence.UnknownWriteException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Checks claims against marks in a table of their own. It cannot be changed, holds no connection, and any thread may
 * use it.
 *
 * <pre>{@code
 * Guard guard = new Guard(Dialect.POSTGRESQL);
 * guard.run(dataSource, lock, connection -> ship(connection, 42));
 * }</pre>
 */
public final class Guard {
    /** The name of the table of marks unless {@link #withTable} sets another. */
    public static final String DEFAULT_TABLE = "holdfast_marks";

    /** What stands in statements without quotes in every dialect; 63 bytes is the least that they all take. */
    private static final Pattern NAME =
            Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62}\\.)?[A-Za-z_][A-Za-z0-9_]{0,62}");

    private static final Pattern TOKEN = Pattern.compile("[0-9]{1,15}");

    private final Dialect dialect;
    private final Rule rule;
    private final String table;

    /**
     * Makes a guard with the table {@link #DEFAULT_TABLE} and the rule {@link Rule#REPEATABLE}.
     *
     * @param dialect the SQL of the database
     */
    public Guard(Dialect dialect) {
        this(dialect, Rule.REPEATABLE, DEFAULT_TABLE);
    }

    private Guard(Dialect dialect, Rule rule, String table) {
        this.dialect = dialect;
        this.rule = rule;
        this.table = table;
    }

    /**
     * Returns this guard with another rule.
     *
     * @param rule which tokens pass
     * @return another guard
     */
    public Guard withRule(Rule rule) {
        return new Guard(dialect, rule, table);
    }

    /**
     * Returns this guard with another table of marks.
     *
     * @param table its name, which is part of the statements, without quotes: letters, digits and _, and a schema
     *     before a
     *     dot if need be
     * @return another guard
     * @throws InvalidException if the table cannot have this name
     */
    public Guard withTable(String table) {
        if (!NAME.matcher(table).matches()) {
            throw invalid("", "table \"" + table + "\" must be at most 63 letters, digits and _, not beginning with a "
                    + "digit, with a schema before a dot if need be");
        }
        return new Guard(dialect, rule, table);
    }

    /**
     * Makes the table of marks unless there is one of that name, which stays as it is. Several processes may call it at
     * once. MySQL commits a transaction that is open on the connection; in PostgreSQL the table is part of it.
     *
     * @param connection to the database
     * @throws SQLException if the database refuses the statement
     */
    public void createTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(dialect.create(table));
        }
    }

    /**
     * Lets the claim pass, or not, as part of the transaction, and raises the mark to its token. The mark stays locked
     * until the transaction ends. Call it before the first read of the transaction: what was read before may be
     * outdated by a late write of an earlier holder, whose change would be lost. Roll back after each exception.
     *
     * @param connection in a transaction: without auto-commit
     * @param claimant the lock, or its claim
     * @throws StaleClaimException if the claim was refused
     * @throws InvalidException if the claim breaks a rule, or the connection commits each statement by itself
     * @throws MalformedMarkException if the mark of the resource is not one
     * @throws SQLException if the database reports an error. After a serialization failure or a deadlock, run the whole
     *     transaction again. An error of the commit leaves open whether mark and writes are there; either both are or
     *     neither.
     */
    public void raise(Connection connection, Claimant claimant) throws SQLException {
        Claim claim = claimant.claim();
        if (connection.getAutoCommit()) {
            throw invalid(claim.resource(), "the connection commits each statement by itself; use Guard.run, or "
                    + "setAutoCommit(false)");
        }
        try {
            if (dialect == Dialect.MYSQL) {
                lockAndRaise(connection, claim);
            } else {
                upsert(connection, claim);
            }
        } catch (SQLException e) {
            if (dialect.noTable.equals(e.getSQLState())) {
                throw new SQLException("the table " + table + " is missing; make it with Guard.createTable: "
                        + e.getMessage(), e.getSQLState(), e.getErrorCode(), e);
            }
            throw e;
        }
    }

    /**
     * Runs a transaction of the default isolation level, which begins with {@link #raise}, and commits it. If the claim
     * is refused, the transaction is not run; if it throws, everything is rolled back. No part is repeated.
     *
     * @param <T> what the transaction returns
     * @param dataSource where connections come from
     * @param claimant the lock, or its claim
     * @param transaction what is done
     * @return what the transaction returned
     * @throws StaleClaimException if the claim was refused; nothing was written
     * @throws InvalidException if the claim breaks a rule; nothing was written
     * @throws MalformedMarkException if the mark of the resource is not one; nothing was written
     * @throws UnknownWriteException if the commit failed: either everything took effect or nothing
     * @throws SQLException if the database reports another error; nothing was written
     */
    public <T extends @Nullable Object> T run(DataSource dataSource, Claimant claimant, Transaction<T> transaction)
            throws SQLException {
        Claim claim = claimant.claim();
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(false);
            T result;
            try {
                raise(connection, claim);
                result = transaction.execute(connection);
                commit(connection, claim);
            } catch (Throwable e) {
                try {
                    connection.rollback(); // first: a change of the mode would commit
                    connection.setAutoCommit(autoCommit);
                } catch (SQLException lost) {
                    e.addSuppressed(lost);
                }
                throw e;
            }
            connection.setAutoCommit(autoCommit); // some pools hand it on as it is
            return result;
        }
    }

    private static InvalidException invalid(String resource, String text) {
        return new InvalidException(text, "fence", resource, null);
    }

    private static void commit(Connection connection, Claim claim) {
        try {
            connection.commit();
        } catch (SQLException e) {
            throw new UnknownWriteException(
                    "the commit of a transaction for \"" + claim.resource() + "\" failed: " + e.getMessage(), e);
        }
    }

    /**
     * The check where one statement can lock the mark, decide and say how it went. A condition that does not hold
     * leaves the row locked too, so that the mark read afterwards is the one that refused.
     */
    private void upsert(Connection connection, Claim claim) throws SQLException {
        String upsert = "INSERT INTO " + table + " AS mark (resource, token) VALUES (?, ?) ON CONFLICT (resource) "
                // mutant: JavaEveryTokenPasses
                + "DO UPDATE SET token = excluded.token WHERE mark.token BETWEEN 0 AND ? RETURNING token";
        try (PreparedStatement statement = connection.prepareStatement(upsert)) {
            statement.setBytes(1, claim.resource().getBytes(UTF_8));
            statement.setLong(2, claim.token());
            statement.setLong(3, rule.passes(claim));
            try (ResultSet passed = statement.executeQuery()) {
                if (passed.next()) {
                    return;
                }
            }
        }
        rule.check(claim, mark(connection, claim, ""));
        throw new FenceException("the mark changed between two statements; use a transaction, and run it again", null);
    }

    /**
     * The check for MySQL, which cannot return what an upsert has found, and whose count of rows depends on the
     * connection. The upsert changes nothing: it makes the row, if there is none, and locks it without the deadlocks
     * that INSERT IGNORE and a locking read of a missing row bring about.
     */
    private void lockAndRaise(Connection connection, Claim claim) throws SQLException {
        byte[] resource = claim.resource().getBytes(UTF_8);
        try (PreparedStatement lock = connection.prepareStatement("INSERT INTO " + table
                + " (resource, token) VALUES (?, 0) ON DUPLICATE KEY UPDATE token = token")) {
            lock.setBytes(1, resource);
            lock.executeUpdate();
        }
        long highest = mark(connection, claim, " FOR UPDATE");
        rule.check(claim, highest); // mutant: JavaEveryTokenPassesInMySQL
        if (claim.token() == highest) {
            return;
        }
        try (PreparedStatement raise =
                connection.prepareStatement("UPDATE " + table + " SET token = ? WHERE resource = ?")) {
            raise.setLong(1, claim.token());
            raise.setBytes(2, resource);
            raise.executeUpdate();
        }
    }

    /** Returns the stored token, which the transaction has locked. */
    private long mark(Connection connection, Claim claim, String suffix) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT token FROM " + table + " WHERE resource = ?" + suffix)) {
            select.setBytes(1, claim.resource().getBytes(UTF_8));
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new FenceException("the mark went between two statements; use a transaction", null);
                }
                String stored = row.getString(1); // whatever there is, so that the error can show it
                if (stored == null || !TOKEN.matcher(stored).matches() || Long.parseLong(stored) > Fence.MAX_TOKEN) {
                    throw new MalformedMarkException("the token of \"" + claim.resource() + "\" in " + table + " is "
                            + stored + ", not 0 to " + Fence.MAX_TOKEN, null);
                }
                return Long.parseLong(stored);
            }
        }
    }
}
