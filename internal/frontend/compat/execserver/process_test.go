//go:build unix

package execserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
)

type object = map[string]any

type read struct {
	Chunks []struct {
		Seq    uint64
		Stream string
		Chunk  []byte
	}
	NextSeq       uint64
	Exited        bool
	ExitCode      *int
	Closed        bool
	Failure       *string
	SandboxDenied bool
}

// command is the request that starts a shell command.
func command(t *testing.T, id, script string) object {
	t.Helper()
	return execservertest.Start(id, script, t.TempDir(), "none")
}

func closed(d execservertest.Done) bool { return d.Closed }

func says(text string) func(execservertest.Done) bool {
	return func(d execservertest.Done) bool { return strings.Contains(d.Text, text) }
}

// inOrder fails the test unless the numbers are 1, 2, 3, ….
func inOrder(t *testing.T, seqs []uint64) {
	t.Helper()
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			t.Fatalf("the numbers are %v", seqs)
		}
	}
}

func TestProcess(t *testing.T) {
	c := client(t)
	var started struct{ ProcessID, SandboxType string }
	c.Call("process/start", command(t, "p", "echo out; echo err >&2; exit 3"), &started)
	if started.ProcessID != "p" || started.SandboxType != "none" {
		t.Errorf("started %+v", started)
	}
	done := c.Until("p", "the end", closed)
	inOrder(t, done.Seqs)
	if !strings.Contains(done.Text, "out\n") || !strings.Contains(done.Text, "err\n") || done.Exited == nil ||
		*done.Exited != 3 {
		t.Errorf("done %+v", done)
	}
	var r read
	c.Call("process/read", object{"processId": "p"}, &r)
	streams := map[string]string{}
	for _, chunk := range r.Chunks {
		streams[chunk.Stream] += string(chunk.Chunk)
	}
	if diff := cmp.Diff(map[string]string{"stdout": "out\n", "stderr": "err\n"}, streams); diff != "" {
		t.Error(diff)
	}
	if !r.Exited || !r.Closed || *r.ExitCode != 3 || r.Failure != nil {
		t.Errorf("read %+v", r)
	}
}

// Reading by number gives each byte once, however it is cut, also while more comes.
func TestReadByNumber(t *testing.T) {
	c := client(t)
	c.Call("process/start", command(t, "p", `i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done`), nil)
	var want, got strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	var after uint64
	for {
		var r read
		c.Call("process/read", object{"processId": "p", "afterSeq": after, "maxBytes": 100, "waitMs": 60_000}, &r)
		for _, chunk := range r.Chunks {
			if chunk.Seq <= after {
				t.Fatalf("%d was read after %d", chunk.Seq, after)
			}
			after = chunk.Seq
			got.Write(chunk.Chunk)
		}
		if r.Closed && len(r.Chunks) == 0 {
			break
		}
		after = max(after, r.NextSeq-1)
	}
	if got.String() != want.String() {
		t.Errorf("read %d bytes of %d", got.Len(), want.Len())
	}
}

// A waiting read does not delay later requests, and ends with the next event of the process.
func TestReadThatWaits(t *testing.T) {
	c := client(t)
	c.Call("process/start", object{ // it exits later: an exit is numbered, too, and may come before the output
		"processId": "p", "argv": []string{"sh", "-c", "read x; echo got $x; read y"}, "cwd": "file://" + t.TempDir(), "tty": false, "pipeStdin": true,
		"env": map[string]string{"PATH": os.Getenv("PATH")},
	}, nil)
	answer := c.Begin("process/read", object{"processId": "p", "waitMs": 3_600_000})
	var wrote struct{ Status string }
	c.Call("process/write", object{"processId": "p", "chunk": []byte("word\n"), "writeId": "1"}, &wrote)
	if wrote.Status != "accepted" {
		t.Errorf("write %+v", wrote)
	}
	if a := answer(); !strings.Contains(string(a.Result), `"seq":1`) {
		t.Errorf("answer %+v", a)
	}
	c.Call("process/write", object{"processId": "p", "chunk": []byte("bye\n"), "writeId": "2"}, &wrote)
	c.Until("p", "the end", closed)
	for id, want := range map[string]string{"p": "stdinClosed", "nobody": "unknownProcess"} {
		c.Call("process/write", object{"processId": id, "chunk": []byte("x"), "writeId": "3"}, &wrote)
		if wrote.Status != want {
			t.Errorf("%s: %s, want %s", id, wrote.Status, want)
		}
	}
}

// A write that is repeated after a lost answer reaches the process once.
func TestWriteIsTakenOnce(t *testing.T) {
	c := client(t)
	start := command(t, "p", "read a; read b; echo $a$b")
	start["pipeStdin"] = true
	c.Call("process/start", start, nil)
	for _, write := range []struct{ id, text string }{{"1", "one\n"}, {"1", "one\n"}, {"2", "two\n"}, {"1", "one\n"}} {
		c.Call("process/write", object{"processId": "p", "chunk": []byte(write.text), "writeId": write.id}, nil)
	}
	if done := c.Until("p", "the end", closed); done.Text != "onetwo\n" {
		t.Errorf("%q", done.Text)
	}
}

// A process that does not read its input holds up its own client's writes, and
// nothing else.
func TestWriteToAProcessThatDoesNotRead(t *testing.T) {
	c := client(t)
	start := command(t, "p", "echo ready; read never <gate; exit 0")
	start["pipeStdin"] = true
	if err := unix.Mkfifo(filepath.Join(strings.TrimPrefix(start["cwd"].(string), "file://"), "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Call("process/start", start, nil)
	c.Until("p", "a word", says("ready"))
	answers := []func() execservertest.Answer{}
	for i := range 8 {
		answers = append(
			answers,
			c.Begin("process/write", object{"processId": "p", "chunk": make([]byte, 1<<20), "writeId": fmt.Sprint(i)}),
		)
	}
	c.Call("environment/status", object{}, nil)
	c.Call("process/terminate", object{"processId": "p"}, nil)
	for _, answer := range answers {
		if a := answer(); a.Error != nil {
			t.Errorf("%+v", a.Error)
		}
	}
}

func TestTerminal(t *testing.T) {
	c := client(t)
	start := command(t, "p", "test -t 0 && test -t 1 && stty size; read x; echo got $x")
	start["tty"] = true
	c.Call("process/start", start, nil)
	c.Until("p", "its size", says("24 80"))
	c.Call("process/write", object{"processId": "p", "chunk": []byte("word\n"), "writeId": "1"}, nil)
	done := c.Until("p", "the end", closed)
	if !strings.Contains(done.Text, "got word") || *done.Exited != 0 {
		t.Errorf("%+v", done)
	}
}

func TestInterrupt(t *testing.T) {
	c := client(t)
	for _, tty := range []bool{false, true} {
		id := fmt.Sprint(tty)
		start := command(t, id, "trap 'echo interrupted; exit 4' INT; echo ready; while :; do sleep 1000 & wait; done")
		start["tty"] = tty
		c.Call("process/start", start, nil)
		c.Until(id, "a word", says("ready"))
		c.Call("process/signal", object{"processId": id, "signal": "interrupt"}, nil)
		c.Until(
			id,
			"its end",
			func(d execservertest.Done) bool { return d.Exited != nil && *d.Exited == 4 && says("interrupted")(d) },
		)
		c.Call("process/terminate", object{"processId": id}, nil)
	}
	c.Call("process/signal", object{"processId": "nobody", "signal": "interrupt"}, nil)
	if a := c.Try("process/signal", object{"processId": "p", "signal": "kill"}); a.Error == nil ||
		a.Error.Code != -32602 {
		t.Errorf("%+v", a)
	}
}

// An id that a process has had is not given to another one, not even later.
func TestProcessIDIsUsedOnce(t *testing.T) {
	c := client(t)
	dir := t.TempDir()
	start := execservertest.Start("p", "echo x >>count", dir, "none")
	if a := c.Try("process/start", object{"processId": "p", "argv": []string{filepath.Join(dir, "missing")}, "cwd": "file://" + dir, "env": object{}, "tty": false}); a.Error == nil {
		t.Error("a program that does not exist was started")
	}
	c.Call("process/start", start, nil)
	for range 2 {
		if a := c.Try("process/start", start); a.Error == nil || a.Error.Code != -32600 ||
			!strings.Contains(a.Error.Message, "already exists") {
			t.Errorf("%+v", a)
		}
		c.Until("p", "the end", closed)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "count")); err != nil || string(data) != "x\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// C7: the descendants of a process end when it is terminated, also after it has exited itself;
// until then they can run.
func TestTerminateAfterTheExit(t *testing.T) {
	c := client(t)
	mark := "rest-" + filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid())
	c.Call(
		"process/start", execservertest.Start("p", "setsid sleep 1000 >/dev/null 2>&1 & echo left", t.TempDir(), mark),
		nil,
	)
	c.Until("p", "its exit", func(d execservertest.Done) bool { return d.Exited != nil })
	if len(execservertest.Survivors(mark)) == 0 {
		t.Error("nothing was left")
	}
	var terminated struct{ Running bool }
	c.Call("process/terminate", object{"processId": "p"}, &terminated)
	if left := execservertest.Survivors(mark); terminated.Running || len(left) > 0 {
		t.Errorf("running: %t, and %v", terminated.Running, left)
	}
	c.Until("p", "the end", closed)
	c.Call("process/terminate", object{"processId": "nobody"}, &terminated)
}

func TestEnvironment(t *testing.T) {
	_, url := begin(
		t, execserver.Options{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/h", "OTHER=o", "API_KEY=k"}},
	)
	c := execservertest.Dial(t, url, nil)
	c.Hello("")
	for name, test := range map[string]struct {
		policy any
		want   []string
	}{
		"none given": {nil, []string{"GIVEN=g"}},
		"all":        {object{"inherit": "all", "ignoreDefaultExcludes": true, "exclude": []string{}, "set": object{}, "includeOnly": []string{}}, []string{"API_KEY=k", "GIVEN=g", "HOME=/h", "OTHER=o"}},
		"excluded":   {object{"inherit": "all", "ignoreDefaultExcludes": false, "exclude": []string{"oth*"}, "set": object{"S": "s"}, "includeOnly": []string{}}, []string{"GIVEN=g", "HOME=/h", "S=s"}},
		"core":       {object{"inherit": "core", "ignoreDefaultExcludes": true}, []string{"GIVEN=g", "HOME=/h"}},
		"nothing":    {object{"inherit": "none"}, []string{"GIVEN=g"}},
		"included":   {object{"inherit": "all", "ignoreDefaultExcludes": true, "includeOnly": []string{"HOME"}}, []string{"GIVEN=g", "HOME=/h"}},
	} {
		c.Call("process/start", object{
			"processId": name, "argv": []string{"env"}, "cwd": "file:///", "tty": false, "envPolicy": test.policy, "env": object{"GIVEN": "g"},
		}, nil)
		done := c.Until(name, "the end", closed)
		var got []string
		for line := range strings.Lines(done.Text) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "PATH=") &&
				!strings.HasPrefix(line, "SETTLE_PROCESS_MARK=") {
				got = append(got, line)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A request that cannot be executed is refused, and nothing is started.
func TestStartErrors(t *testing.T) {
	c, missing := client(t), filepath.Join(t.TempDir(), "missing")
	for name, test := range map[string]struct {
		change object
		code   int
	}{
		"no id":             {object{"processId": nil}, -32602},
		"long id":           {object{"processId": strings.Repeat("x", 1000)}, -32602},
		"no argv":           {object{"argv": []string{}}, -32602},
		"native path":       {object{"cwd": "/tmp"}, -32602},
		"no directory":      {object{"cwd": "file://" + missing}, -32603},
		"another name":      {object{"arg0": "other"}, -32600},
		"managed network":   {object{"enforceManagedNetwork": true}, -32600},
		"network proxy":     {object{"networkProxy": object{}}, -32600},
		"unknown sandbox":   {object{"sandbox": object{"permissions": object{"type": "new"}}}, -32600},
		"odd variable":      {object{"env": object{"A=B": "x"}}, -32602},
		"odd inheritance":   {object{"envPolicy": object{"inherit": "some"}}, -32602},
		"program not there": {object{"argv": []string{missing}}, -32004},
	} {
		start := command(t, "p", "touch it-ran")
		dir := strings.TrimPrefix(start["cwd"].(string), "file://")
		for key, value := range test.change {
			start[key] = value
		}
		if a := c.Try("process/start", start); a.Error == nil || a.Error.Code != test.code {
			t.Errorf("%s: %+v, want %d", name, a.Error, test.code)
		}
		if _, err := os.Stat(filepath.Join(dir, "it-ran")); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
	c.Call("process/start", command(t, "p", "exit 0"), nil)
	c.Until("p", "the end", closed)
}

// A hundred processes at once have their own output each.
func TestManyProcesses(t *testing.T) {
	c := client(t)
	const many = 100
	answers := []func() execservertest.Answer{}
	for i := range many {
		answers = append(
			answers,
			c.Begin(
				"process/start", command(t, fmt.Sprint(i), fmt.Sprintf("echo %d; while :; do sleep 1000; done", i)),
			),
		)
	}
	for _, answer := range answers {
		if a := answer(); a.Error != nil {
			t.Fatal(a.Error)
		}
	}
	ends := []func() execservertest.Answer{}
	for i := range many {
		c.Until(fmt.Sprint(i), "a word", says("\n"))
		ends = append(ends, c.Begin("process/terminate", object{"processId": fmt.Sprint(i)}))
	}
	for i, end := range ends {
		end()
		if done := c.Until(fmt.Sprint(i), "the end", closed); done.Text != fmt.Sprint(i, "\n") &&
			done.Text != fmt.Sprintf("%d\n", i) {
			t.Errorf("%d said %q", i, done.Text)
		}
	}
}
