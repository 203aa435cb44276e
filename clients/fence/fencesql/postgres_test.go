package fencesql_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

func TestPostgreSQL(t *testing.T) {
	d := postgres(t)
	all(t, d)
	t.Run("CreateTableMeetsAnother", func(t *testing.T) {
		createTableMeetsAnother(&scenario{TB: t, database: d, db: d.open(t)})
	})
	t.Run("TypeInTheWay", func(t *testing.T) { typeInTheWay(&scenario{TB: t, database: d, db: d.open(t)}) })
}

// createTableMeetsAnother that commits between two looks of PostgreSQL's: there is no such table yet, and
// then already the type of its rows.
func createTableMeetsAnother(s *scenario) {
	first, second := s.conn(), s.conn()
	g := s.guard(s.TB, fencesql.WithTable("met"))
	create := func(on fencesql.DB) error { return g.CreateTable(s.Context(), on) }
	// Afterwards the connection knows each type but the table's own.
	if err := create(second); err != nil {
		s.Fatal(err)
	}
	s.exec(second, "DROP TABLE met")

	s.exec(first, "BEGIN")
	if err := create(first); err != nil {
		s.Fatal(err)
	}
	s.exec(first, "LOCK TABLE pg_type IN ACCESS EXCLUSIVE MODE")
	created := make(chan error, 1)
	go func() { created <- create(second) }()
	s.awaitWaiter(first)
	s.exec(first, "COMMIT")
	if err := <-created; err != nil {
		s.Error(err)
	}
	s.exec(s.db, "DROP TABLE met")
}

// typeInTheWay of the table is an error, and not taken for the table.
func typeInTheWay(s *scenario) {
	s.exec(s.db, "CREATE TYPE mood AS ENUM ('calm')")
	err := s.guard(s.TB, fencesql.WithTable("mood")).CreateTable(s.Context(), s.db)
	if err == nil || !strings.Contains(err.Error(), `type "mood" already exists`) {
		s.Errorf("got %v, want an error that says what is in the way", err)
	}
	s.exec(s.db, "DROP TYPE mood")
}

// postgres starts a server of its own.
func postgres(tb testing.TB) *database {
	tb.Helper()
	bin := debian("postgres", "/usr/lib/postgresql/*/bin")
	dir, credential := tb.TempDir(), unprivileged(tb)
	if credential != nil {
		give(tb, dir, credential)
	}
	if _, err := exec.LookPath(bin); err == nil {
		initdb := exec.Command(filepath.Join(filepath.Dir(bin), "initdb"), "-D", dir, "-U", "postgres",
			"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
		as(initdb, dir, credential)
		if output, err := initdb.CombinedOutput(); err != nil {
			tb.Fatalf("%v: %v\n%s", initdb, err, output)
		}
	}
	d := &database{
		dialect:   fencesql.PostgreSQL,
		driver:    "pgx",
		dsn:       func(addr string) string { return "postgres://postgres@" + addr + "/postgres" },
		bytes:     "bytea",
		serial:    "bigserial",
		waiting:   "SELECT count(*) FROM pg_locks WHERE NOT granted",
		retryable: postgresRetryable,
		schema:    "public",
	}
	d.start(tb, fencetest.Server{
		Program: bin,
		Install: "bash .ci/servers",
		Command: func(addr string) *exec.Cmd {
			_, port, _ := net.SplitHostPort(addr)
			cmd := exec.Command(bin, "-D", dir, "-h", "127.0.0.1", "-p", port, "-c", "unix_socket_directories=")
			as(cmd, dir, credential)
			return cmd
		},
	})
	return d
}

func postgresRetryable(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// debian returns where a program is that Debian keeps out of the PATH, or its name if it is nowhere.
func debian(program, folders string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	found, _ := filepath.Glob(filepath.Join(folders, program)) // the pattern is good
	if len(found) == 0 {
		return program
	}
	return found[len(found)-1]
}

// unprivileged returns as whom to run what refuses to run as root; nil if the test does not run as root.
func unprivileged(tb testing.TB) *syscall.Credential {
	tb.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		tb.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		tb.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// give makes another user the owner of the test's folder; the one above it is closed to others.
func give(tb testing.TB, dir string, to *syscall.Credential) {
	tb.Helper()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, int(to.Uid), int(to.Gid))); err != nil {
		tb.Fatal(err)
	}
}

// as lets the command run in dir and as another user.
func as(cmd *exec.Cmd, dir string, owner *syscall.Credential) {
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
}
