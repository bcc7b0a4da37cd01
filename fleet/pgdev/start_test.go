package pgdev

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// shortDir returns a directory whose sockets' paths have less than 108 bytes, and that the
// server's user can pass.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "settle-fleet-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "pg")
}

// freePort returns a port of the loopback interface that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts a server until the end of the test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// connect tries to connect with a password, and returns why it cannot.
func connect(ctx context.Context, host string, port int, user, password string) error {
	config, err := pgx.ParseConfig(
		"sslmode=disable passfile=/nowhere host=" + host + " user=" + user + " dbname=postgres port=" + fmt.Sprint(
			port,
		),
	)
	if err != nil {
		return err
	}
	config.Password = password
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// TestServerNeedsPassword: without the password, nobody connects, neither by the socket nor
// by TCP, as no role, and neither with pgx nor with psql.
func TestServerNeedsPassword(t *testing.T) {
	dir, port := shortDir(t), freePort(t)
	s := start(t, Options{Dir: dir, NoSync: true, port: port})
	socket := filepath.Join(dir, socketDir)
	for _, host := range []string{socket, "127.0.0.1"} {
		if err := connect(t.Context(), host, port, superuser, s.password); err != nil {
			t.Errorf("with the password, at %s: %v", host, err)
		}
		for _, user := range []string{superuser, "postgres", "root"} {
			for _, password := range []string{"", "wrong"} {
				if err := connect(t.Context(), host, port, user, password); err == nil ||
					!strings.Contains(err.Error(), "password authentication failed") &&
						!strings.Contains(err.Error(), "empty password") {
					t.Errorf("as %s with %q, at %s: %v", user, password, host, err)
				}
			}
		}
		psql := exec.CommandContext(
			t.Context(),
			filepath.Join(string(programsOf(t)), "psql"),
			"--no-password",
			"-h",
			host,
			"-p",
			fmt.Sprint(port),
			"-U",
			superuser,
			"-c",
			"SELECT 1",
			"postgres",
		)
		psql.Env = []string{"PGPASSFILE=/nowhere", "HOME=/nowhere"}
		if out, err := psql.CombinedOutput(); err == nil || !strings.Contains(string(out), "no password supplied") {
			t.Errorf("psql at %s: %v\n%s", host, err, out)
		}
		psql.Args[1], psql.Env = "--quiet", append(psql.Env, "PGPASSWORD="+s.password)
		second := exec.CommandContext(t.Context(), psql.Path, psql.Args[1:]...)
		second.Env = psql.Env
		if out, err := second.CombinedOutput(); err != nil {
			t.Errorf("psql with the password at %s: %v\n%s", host, err, out)
		}
	}
}

func programsOf(t *testing.T) programs {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// TestPasswordIsPrivate: only the owner reads the password, which is neither in the URL nor
// in what the server logs, and it holds until the database is made anew.
func TestPasswordIsPrivate(t *testing.T) {
	dir := shortDir(t)
	s := start(t, Options{Dir: dir, NoSync: true})
	for path, mode := range map[string]fs.FileMode{passwordFile: 0o600, "log": 0o600, socketDir: 0o700 | fs.ModeDir, dataDir: 0o700 | fs.ModeDir} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o066 != 0 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || strings.Contains(string(log)+s.URL, s.password) {
		t.Errorf("the password is in %q or in the log: %s, %v", s.URL, log, err)
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Query().Get("passfile") != filepath.Join(dir, passwordFile) {
		t.Errorf("%q, %v", s.URL, err)
	}
	password := s.password
	s.Stop()
	if s = start(t, Options{Dir: dir, NoSync: true}); s.password != password {
		t.Error("the second start has another password")
	}
	s.Stop()
	if err := os.RemoveAll(filepath.Join(dir, dataDir)); err != nil {
		t.Fatal(err)
	}
	if s = start(t, Options{Dir: dir, NoSync: true}); s.password == password {
		t.Error("a new database has the password of the one before")
	}
}

// TestOlderServerGetsPassword: one that an older version made, which trusted everybody who
// could reach the socket, keeps its data and requires a password from now on.
func TestOlderServerGetsPassword(t *testing.T) {
	dir := shortDir(t)
	s := start(t, Options{Dir: dir, NoSync: true})
	conn, err := pgx.Connect(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept (); ALTER ROLE settle PASSWORD NULL"); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	s.Stop()
	data := filepath.Join(dir, dataDir)
	if err := os.WriteFile(filepath.Join(data, accessFile), []byte("local all all trust\nhost all all all trust\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, passwordFile)); err != nil {
		t.Fatal(err)
	}
	s = start(t, Options{Dir: dir, NoSync: true})
	if err := connect(t.Context(), filepath.Join(dir, socketDir), 5432, superuser, ""); err == nil {
		t.Error("the server has no password")
	}
	if conn, err = pgx.Connect(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT FROM kept"); err != nil {
		t.Error(err)
	}
	_ = conn.Close(t.Context())
}
