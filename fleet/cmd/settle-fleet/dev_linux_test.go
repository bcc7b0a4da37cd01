package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest"
)

// attack tries what leads to the database, and prints REACHED and a name for each way
// that does.
const attack = `
try() { name=$1; shift; if timeout 5 "$@" >/dev/null 2>&1; then echo "REACHED $name"; fi; }
with() { timeout 5 env -u PGPASSWORD psql -w -X -c 'SELECT 1' "$1" >/dev/null 2>&1 && echo "REACHED $2"; }
with "postgres://settle@/postgres?host=$SOCKET" "the database without the password"
with "$URL" "the database by its URL"
with "postgres://settle@127.0.0.1:5432/postgres" "port 5432"
try "the socket" perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 1' "$SOCKET/.s.PGSQL.5432"
try "a socket to make" perl -MSocket -e 'socket(my $s, PF_UNIX, SOCK_STREAM, 0) or exit 1'
try "a port of this machine" bash -c "echo >/dev/tcp/127.0.0.1/$PORT"
try "the password" grep -q settle "$DIR/postgres/password"
try "the URL" grep -q postgres "$DIR/url"
try "the data" ls "$DIR/postgres/data/base"
try "the folder" ls "$DIR"
try "to write beside the password" touch "$DIR/postgres/made"
try "the process" test -e "/proc/$WORKER/status"
try "the environment" grep -q OPENAI_API_KEY "/proc/$WORKER/environ"
try "the command line" grep -q test "/proc/$WORKER/cmdline"
try "the memory" head -c 1 "/proc/$WORKER/mem"
try "the descriptors" ls "/proc/$WORKER/fd"
try "a signal" kill -0 "$WORKER"
try "another environment" sh -c 'cat /proc/[0-9]*/environ | grep -q OPENAI_API_KEY='
case "$(env)" in *OPENAI_API_KEY=*) echo "REACHED the key in its own environment";; esac
echo tried
`

// devFleet is settle-fleet dev as a process.
type devFleet struct {
	cmd      *exec.Cmd
	database string // URL
	dir      string
	stdout   *bufio.Reader // what follows the address of the database
}

// startDevFleet starts settle-fleet dev without Temporal and waits until it has a database.
func startDevFleet(t *testing.T, args ...string) devFleet {
	t.Helper()
	return startDevProcess(t, append(args, "--temporal", os.Getenv("TEMPORAL_ADDRESS"))...)
}

// startDevProcess starts settle-fleet dev and waits until it has a database.
func startDevProcess(t *testing.T, args ...string) devFleet {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "settle-dev-") // the path of a socket has less than 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o711); err != nil { // the server may be another user's
		t.Fatal(err)
	}
	d := devFleet{cmd: exec.Command(os.Args[0]), dir: filepath.Join(root, "dev")}
	args = append([]string{"dev", "--dir", d.dir}, args...)
	d.cmd.Env = append(os.Environ(), roleVar+"="+roleCommand, argsVar+"="+strings.Join(args, "\t"))
	d.cmd.Stderr = t.Output()
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		_ = d.cmd.Wait()
	})
	d.stdout = bufio.NewReader(stdout)
	d.database = d.address(t, "database")
	return d
}

// address reads the next line, which has the address of a server.
func (d devFleet) address(t *testing.T, of string) string {
	t.Helper()
	line, err := d.stdout.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, of+": ") {
		t.Fatalf("no address of %s in %q: %v", of, line, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, of+": "))
}

// variables are what the attack is told.
func (d devFleet) variables(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(d.database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return fmt.Sprintf("export SOCKET='%s' URL='%s' PORT=%d DIR='%s' WORKER=%d\n",
		u.Query().Get("host"), d.database, l.Addr().(*net.TCPAddr).Port, d.dir, d.cmd.Process.Pid)
}

// outputs returns how the calls of a session ended, one line of JSON each.
func outputs(t *testing.T, database, session string) (list []string) {
	t.Helper()
	calls := map[string]bool{}
	for line := range strings.Lines(must(t, "", "logs", "--json", "--database", database, session)) {
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind() == event.KindCallReady {
			calls[e.Item] = true
		}
		if calls[e.Item] && e.Kind() == event.KindItemEnded {
			list = append(list, line)
		}
	}
	return list
}

// TestDevTasksCannotReachDatabase: neither the commands nor the file tools of a task reach
// the control database, the password, the worker or its environment. The task completes.
func TestDevTasksCannotReachDatabase(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Fatalf("nothing can be confined here: %v", err)
	}
	home(t)
	t.Setenv(databaseVar, "")
	t.Setenv("PGPASSWORD", "of-another-server")
	work, outside := t.TempDir(), filepath.Join(t.TempDir(), "made")
	call := func(name string, arguments map[string]any) modeltest.Item {
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Call(name, string(text))
	}
	var d devFleet
	link := filepath.Join(work, "link")
	model := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(call("shell", map[string]any{"command": "bash ./attack.sh; echo x >made"})),
		modeltest.Reply(call("shell", map[string]any{"command": "bash ./attack.sh", "outside": true})),
		modeltest.Reply(
			call("read", map[string]any{"path": "link/postgres/password"}),
			call("read", map[string]any{"path": "link/url"}),
		),
		modeltest.Reply(
			call("write", map[string]any{"path": outside, "content": "x"}),
			call("write", map[string]any{"path": "inside", "content": "x"}),
		),
		modeltest.Say("I could not."),
	))
	d = startDevFleet(t, "-m", "openai/gpt-5.2", "--base-url", model.OpenAI())
	if err := os.WriteFile(filepath.Join(work, "attack.sh"), []byte(d.variables(t)+attack), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.dir, link); err != nil {
		t.Fatal(err)
	}
	taskID := strings.TrimSpace(must(t, "", "submit", "--database", d.database, "-C", work, "--session", "s", "attack"))
	if out := must(
		t,
		"",
		"results",
		"--wait",
		"--database",
		d.database,
	); !strings.Contains(
		out,
		`"outcome":"completed"`,
	) {
		t.Errorf("%s: %s", taskID, out)
	}
	calls := outputs(t, d.database, "s")
	all := strings.Join(calls, "")
	if len(calls) != 6 || strings.Contains(all, "REACHED") || !strings.Contains(calls[0], "tried") {
		t.Errorf("%d calls: %s", len(calls), all)
	}
	password := password(t, d.database)
	if strings.Contains(all, password) {
		t.Errorf("the log has the password: %s", all)
	}
	for path, want := range map[string]bool{
		outside: false, filepath.Join(work, "inside"): true, filepath.Join(work, "made"): true,
	} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	attacked(t, work)
	t.Setenv("PGPASSWORD", "") // pg_dump prefers it to the file
	if strings.Contains(dump(t, d.database), password) {
		t.Error("the database has its password")
	}
}

func password(t *testing.T, database string) string {
	t.Helper()
	config, err := pglog.ParseConfig(database)
	if err != nil || config.ConnConfig.Password == "" || config.ConnConfig.Password == os.Getenv("PGPASSWORD") {
		t.Fatalf("the URL leads to no password: %v", err)
	}
	return config.ConnConfig.Password
}

// attacked checks the attack: outside of the sandbox, it does reach what it tries, apart
// from the database without the password.
func attacked(t *testing.T, work string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", filepath.Join(work, "attack.sh")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "without the password") {
		t.Errorf("%v: %s", err, out)
	}
	for _, want := range []string{
		"the database by its URL", "the socket", "a port of this machine", "the password", "the URL", "the folder",
		"the process", "the command line", "a signal",
	} {
		if !strings.Contains(string(out), "REACHED "+want+"\n") {
			t.Errorf("the attack does not even reach %s outside of the sandbox: %s", want, out)
		}
	}
}

// TestDevRefusesItsOwnDirectory: a task in a folder that contains the database ends, since
// its commands could change everything there.
func TestDevRefusesItsOwnDirectory(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Fatalf("nothing can be confined here: %v", err)
	}
	home(t)
	t.Setenv(databaseVar, "")
	d := startDevFleet(
		t,
		"-m",
		"openai/gpt-5.2",
		"--base-url",
		modeltest.NewServer(t, modeltest.Script(modeltest.Say("no"))).OpenAI(),
	)
	must(t, "", "submit", "--database", d.database, "-C", filepath.Dir(d.dir), "--session", "s", "work")
	if _, out, _ := command(
		t,
		"",
		"results",
		"--wait",
		"--database",
		d.database,
	); !strings.Contains(out, `"outcome":"failed"`) ||
		!strings.Contains(out, "contains "+d.dir) {
		t.Errorf("%s", out)
	}
}
