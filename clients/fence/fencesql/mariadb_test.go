package fencesql_test

import (
	"errors"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

func TestMariaDB(t *testing.T) { all(t, mariadb(t, "")) }

// TestMariaDBFoundRows is with connections that count the rows found instead of those changed.
func TestMariaDBFoundRows(t *testing.T) { all(t, mariadb(t, "&clientFoundRows=true")) }

// TestMariaDBSnapshot is with what newer versions do by themselves: a write to a row that has changed
// since the snapshot is an error.
func TestMariaDBSnapshot(t *testing.T) { all(t, mariadb(t, "", "--innodb-snapshot-isolation=ON")) }

// mariadb starts a server of its own, without passwords.
func mariadb(tb testing.TB, parameters string, flags ...string) *database {
	tb.Helper()
	// The driver logs every connection that a test has cut.
	if err := mysql.SetLogger(log.New(io.Discard, "", 0)); err != nil {
		tb.Fatal(err)
	}
	bin, dir := fencetest.Debian("mariadbd", "/usr/sbin"), tb.TempDir()
	flags = append([]string{"--no-defaults", "--datadir=" + dir, "--skip-grant-tables"}, flags...)
	if os.Geteuid() == 0 {
		flags = append(flags, "--user=root")
	}
	bootstrap(tb, exec.Command(bin, append(flags, "--bootstrap")...))
	d := &database{
		dialect: fencesql.MySQL,
		driver:  "mysql",
		dsn:     func(addr string) string { return "root@tcp(" + addr + ")/test?timeout=10s" + parameters },
		bytes:   "VARBINARY(512)",
		serial:  "BIGINT AUTO_INCREMENT",
		waiting: "SELECT variable_value FROM information_schema.global_status WHERE variable_name = " +
			"'INNODB_ROW_LOCK_CURRENT_WAITS'",
		retryable: mysqlRetryable,
		schema:    "test",
	}
	d.start(tb, fencetest.Server{
		Program: bin,
		Install: "bash .ci/servers",
		Command: func(addr string) *exec.Cmd {
			_, port, _ := net.SplitHostPort(addr)
			return exec.Command(bin, append(flags, "--socket="+dir+"/socket", "--bind-address=127.0.0.1",
				"--port="+port, "--max-connections=300")...) // each guard in another language has a pool of its own
		},
	})
	return d
}

// bootstrap makes the files of InnoDB, which survive a crash only after a first, regular shutdown.
func bootstrap(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	if _, err := exec.LookPath(cmd.Path); err != nil {
		return // the start says so at greater length
	}
	cmd.Stdin = strings.NewReader("CREATE DATABASE test;\n")
	if output, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %v\n%s", cmd, err, output)
	}
}

func mysqlRetryable(err error) bool {
	const deadlock, lockWaitTimeout, changedSinceSnapshot = 1213, 1205, 1020
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == deadlock || e.Number == lockWaitTimeout ||
		e.Number == changedSinceSnapshot)
}
