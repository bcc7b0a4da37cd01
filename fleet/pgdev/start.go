package pgdev

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/fleet/devserver"
)

const (
	// startTimeout bounds the start, which may have to recover from a crash.
	startTimeout = time.Minute
	// stopTimeout bounds the stop; then the server is killed.
	stopTimeout = 10 * time.Second
	// readyDelay is the wait between two checks whether the server is ready.
	readyDelay = 20 * time.Millisecond
)

// Server is a Postgres that this process has started.
type Server struct {
	// URL connects to it. It names the file with the password, and holds no secret.
	URL string

	*devserver.Child
	password string
}

// Options say how to start one.
type Options struct {
	// Dir is where it keeps its data, and its socket. It is made if it is missing.
	Dir string
	// NoSync turns off fsync, for tests: a crash of the machine can lose data, a crash of the
	// server cannot.
	NoSync bool

	port int // if set, the server also listens on the loopback interface; for tests
}

// The directories in Options.Dir that belong to the server's user.
const dataDir, socketDir = "data", "socket"

// Start starts the server and waits until it is ready.
func Start(ctx context.Context, o Options) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find %q: %w", o.Dir, err)
	}
	owner, err := serverUser()
	if err != nil {
		return nil, err
	}
	if err := makeDirs(dir, owner); err != nil {
		return nil, fmt.Errorf("cannot make the server's directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	data, socket := filepath.Join(dir, dataDir), filepath.Join(dir, socketDir)
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); errors.Is(err, os.ErrNotExist) {
		if err := bin.initialise(ctx, dir, owner); err != nil {
			return nil, err
		}
	}
	s := &Server{}
	if s.password, err = bin.secure(ctx, dir, owner); err != nil {
		return nil, err
	}
	query := url.Values{"host": {socket}, "passfile": {filepath.Join(dir, passwordFile)}}
	if o.port != 0 { // the name of the socket contains the number
		query.Set("port", strconv.Itoa(o.port))
	}
	address := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: query.Encode()}
	s.URL = address.String()
	if err := s.start(bin, dir, owner, o); err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx, data); err != nil {
		s.Stop()
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, fmt.Errorf("postgres does not start: %w\n%s", err, lastLines(log))
	}
	return s, nil
}

// makeDirs makes the server's directories. Only the account can use those in dir; dir
// itself and its files belong to this process's user.
func makeDirs(dir string, owner account) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := owner.pass(dir); err != nil {
		return err
	}
	for _, name := range []string{dataDir, socketDir} {
		if err := owner.makeDir(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// programs is the directory with a server's programs.
type programs string

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

// binaries returns the newest server's programs.
func binaries() (programs, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // Debian keeps them out of PATH
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a) // 9 is before 15
		}
		return strings.Compare(b, a)
	})
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	for _, path := range found {
		if path, err := filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres")); err == nil {
				return programs(filepath.Dir(path)), nil
			}
		}
	}
	return "", errors.New(
		"there is no Postgres server on this machine; " +
			"on Debian and Ubuntu, apt-get install postgresql, or use the database of another machine: " +
			"settle-fleet worker --database URL",
	)
}

// initialise makes the database. It has no password yet, and its own access file admits no
// user: the server uses the file that secure writes.
func (p programs) initialise(ctx context.Context, dir string, owner account) error {
	if err := os.Remove(filepath.Join(dir, passwordFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove the password of an earlier database: %w", err)
	}
	data := filepath.Join(dir, dataDir)
	cmd := exec.CommandContext(ctx, p.path("initdb"), "--pgdata", data, "--username", superuser, "--auth", "reject",
		"--encoding", "UTF8", "--locale", "C", "--data-checksums", "--no-instructions", "--no-sync")
	owner.apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot make a database in %q: %w\n%s", data, err, lastLines(out))
	}
	return nil
}

func (s *Server) start(bin programs, dir string, owner account, o Options) error {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the server's log: %w", err)
	}
	defer log.Close()
	data := filepath.Join(dir, dataDir)
	settings := []string{
		"listen_addresses=", "unix_socket_directories=" + filepath.Join(dir, socketDir), "unix_socket_permissions=0700",
		"hba_file=" + filepath.Join(dir, accessFile), "password_encryption=scram-sha-256", "max_connections=200",
		"shared_buffers=64MB", "max_wal_size=1GB",
	}
	if o.port != 0 {
		settings = append(settings, "listen_addresses=127.0.0.1", "port="+strconv.Itoa(o.port))
	}
	if o.NoSync {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	args := []string{"-D", data}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(bin.path("postgres"), args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, data
	owner.apply(cmd)
	// SIGQUIT is an immediate shutdown, since no process would order another one.
	s.Child, err = devserver.Start(cmd, syscall.SIGQUIT)
	return err
}

// awaitReady waits until the server answers, and not another one that has its data.
func (s *Server) awaitReady(ctx context.Context, data string) error {
	for {
		err := s.ping(ctx)
		if err == nil && s.ownsData(data) {
			return nil
		}
		select {
		case <-time.After(readyDelay):
		case <-s.Exited():
			if s.ping(ctx) == nil {
				return errors.New("another server runs on the same data, for example of another settle-fleet dev")
			}
			return errors.New("it has ended")
		case <-ctx.Done():
			return cmp.Or(err, context.Cause(ctx))
		}
	}
}

// ownsData reports whether this server uses the data: it has written its pid there.
func (s *Server) ownsData(data string) bool {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	return err == nil && first == strconv.Itoa(s.Process().Pid)
}

// ping sends a query to the server.
func (s *Server) ping(ctx context.Context) error {
	config, err := pgx.ParseConfig(s.URL)
	if err != nil {
		return err
	}
	config.Password = s.password // $PGPASSWORD belongs to another server
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Stop ends the server and those who are connected to it, and waits for that.
func (s *Server) Stop() {
	// "fast": what is committed is on the disk.
	s.End(func() { _ = s.Process().Signal(os.Interrupt) }, stopTimeout)
}

// lastLines returns the last lines of a program's output.
func lastLines(out []byte) []byte {
	const maxTail = 1000
	out = bytes.TrimSpace(out)
	return out[max(0, len(out)-maxTail):]
}
