package io.github.holdfastio.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.fence.StaleClaimException;
import io.github.holdfastio.holdfast.fence.jdbc.Dialect;
import io.github.holdfastio.holdfast.fence.jdbc.Guard;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** The guard of databases with pools and transactions of applications; its rules are the matter of the suite in Go. */
@HoldfastTest
@Timeout(120)
class GuardTest {
    @Nested
    class PostgreSQL extends Cases {
        PostgreSQL() throws Exception {
            super(Dialect.POSTGRESQL, Database.postgresql());
        }
    }

    @Nested
    class MariaDB extends Cases {
        MariaDB() throws Exception {
            super(Dialect.MYSQL, Database.mariadb());
        }
    }

    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class Cases {
        private final Guard guard;
        private final Database database;
        private final HikariDataSource pool;
        private final JdbcTemplate sql;

        Cases(Dialect dialect, Database database) {
            this.guard = new Guard(dialect);
            this.database = database;
            this.pool = pool(true);
            this.sql = new JdbcTemplate(pool);
        }

        private HikariDataSource pool(boolean autoCommit) {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(database.url());
            config.setMaximumPoolSize(4);
            config.setAutoCommit(autoCommit);
            return new HikariDataSource(config);
        }

        @BeforeAll
        void createTables() throws SQLException {
            sql.execute("CREATE TABLE shipped (name VARCHAR(64) PRIMARY KEY)");
            try (Connection connection = pool.getConnection()) {
                SQLException missing = assertThrows(SQLException.class,
                        () -> guard.run(pool, new Claim("early", 1), unused -> null));
                assertTrue(missing.getMessage().contains("Guard.createTable"), missing.getMessage());
                guard.createTable(connection);
                guard.createTable(connection);
            }
        }

        @AfterAll
        void close() {
            pool.close();
            database.close();
        }

        private static int ship(Connection connection, String name) {
            return new JdbcTemplate(new SingleConnectionDataSource(connection, true))
                    .update("INSERT INTO shipped VALUES (?)", name);
        }

        private boolean isShipped(String name) {
            return !sql.queryForList("SELECT name FROM shipped WHERE name = ?", name).isEmpty();
        }

        @Test
        void refusesTheWriteOfALockThatWasLost(Server server, Client client) throws Exception {
            String name = "lost-from-" + database.url();
            Lock lost = client.lock(name);
            server.endLease(name);
            try (Lock next = client.lock(name)) {
                assertEquals(1, guard.<Integer>run(pool, next, connection -> ship(connection, "next")));
                StaleClaimException refused = assertThrows(StaleClaimException.class,
                        () -> guard.run(pool, lost, connection -> ship(connection, "late")));
                assertEquals(next.token(), refused.highest());
            }
            assertEquals(List.of(true, false), List.of(isShipped("next"), isShipped("late")));
        }

        @Test
        void aStaleClaimRollsBackATransactionOfSpring() {
            JdbcTransactionManager manager = new JdbcTransactionManager(pool);
            TransactionTemplate transaction = new TransactionTemplate(manager);
            for (long token : List.of(2L, 1L)) {
                Runnable ship = () -> transaction.executeWithoutResult(status -> {
                    sql.update("INSERT INTO shipped VALUES (?)", "before-" + token);
                    raise(new Claim("spring", token));
                    sql.update("INSERT INTO shipped VALUES (?)", "after-" + token);
                });
                if (token == 2) {
                    ship.run();
                } else {
                    assertThrows(StaleClaimException.class, ship::run);
                }
            }
            assertEquals(List.of(true, true, false, false), List.of(isShipped("before-2"), isShipped("after-2"),
                    isShipped("before-1"), isShipped("after-1")));
        }

        /** Raises the mark in the transaction of Spring that the thread is in. */
        private void raise(Claim claim) {
            Connection connection = DataSourceUtils.getConnection(pool);
            try {
                guard.raise(connection, claim);
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            } finally {
                DataSourceUtils.releaseConnection(connection, pool);
            }
        }

        @Test
        void aFailedTransactionRaisesNoMark() throws SQLException {
            assertThrows(ArithmeticException.class, () -> guard.run(pool, new Claim("failed", 7), connection -> {
                ship(connection, "failed");
                throw new ArithmeticException();
            }));
            assertFalse(isShipped("failed"));
            guard.run(pool, new Claim("failed", 6), connection -> ship(connection, "succeeded"));
            assertTrue(isShipped("succeeded"));
        }

        @Test
        void commitsWithAPoolWithoutAutoCommit() throws SQLException {
            try (HikariDataSource manual = pool(false)) {
                guard.run(manual, new Claim("manual", 2), connection -> ship(connection, "manual"));
                assertThrows(StaleClaimException.class,
                        () -> guard.run(manual, new Claim("manual", 1), connection -> ship(connection, "stale")));
            }
            assertEquals(List.of(true, false), List.of(isShipped("manual"), isShipped("stale")));
        }

        @Test
        void leavesAConnectionAsItWas() throws SQLException {
            for (boolean mode : List.of(true, false)) {
                try (Connection connection = pool.getConnection()) {
                    connection.setAutoCommit(mode);
                    DataSource one = new SingleConnectionDataSource(connection, true);
                    guard.run(one, new Claim("mode", 2), unused -> null);
                    assertEquals(mode, connection.getAutoCommit());
                    assertThrows(StaleClaimException.class, () -> guard.run(one, new Claim("mode", 1), unused -> null));
                    assertEquals(mode, connection.getAutoCommit());
                }
            }
        }

        @Test
        void needsATransaction() throws SQLException {
            try (Connection connection = pool.getConnection()) {
                assertThrows(InvalidException.class, () -> guard.raise(connection, new Claim("auto-commit", 1)));
            }
        }
    }
}
