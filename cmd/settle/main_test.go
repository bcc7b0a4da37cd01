package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/modeltest/leak"
)

// TestMain makes the test binary the command: a supervisor if it is executed as
// one, settle if it is called by that name.
func TestMain(m *testing.M) {
	setsid.Command()
	proc.RunAsSupervisor()
	pdf.RunAsExtractor()
	execservertest.Play()
	testscript.Main(
		hearing{setsid.With(m)},
		map[string]func(){"settle": main, "load-model": loadModel, "probe": probe, "dial": dial},
	)
}

// hearing runs the tests so that their child processes receive SIGHUP and SIGINT, even if the tests
// were started with nohup or by a script's "&".
type hearing struct{ setsid.Tests }

func (h hearing) Run() int {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) { // a signal that is caught here has its default in a new program
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	return leak.Run(h.Tests)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Setup:         setUp,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model":    model,
			"fault":    fault,
			"requests": requests,
			"asked":    checkRequestedPaths,
			"code":     code,
			"alone":    alone,
			"corrupt":  corrupt,
			"newer":    newer,
			"forget":   forget,
		},
	})
}

type serverKey struct{}

// holder keeps the script's model server.
type holder struct{ server *modeltest.Server }

func setUp(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("SETTLE_DATA_DIR", filepath.Join(env.WorkDir, "data"))
	env.Values[serverKey{}] = &holder{}
	for _, dir := range []string{home, filepath.Join(env.WorkDir, "work")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	env.Cd = filepath.Join(env.WorkDir, "work")
	return nil
}

func serve(ts *testscript.TestScript, sc modeltest.Scenario) {
	h := ts.Value(serverKey{}).(*holder)
	if h.server != nil {
		ts.Check(h.server.Close())
	}
	h.server = modeltest.NewServer(nil, sc)
	ts.Defer(func() { ts.Check(h.server.Close()) })
	ts.Setenv("URL", h.server.URL)
}

// model FILE serves the scenario in the file; $URL is where.
func model(ts *testscript.TestScript, _ bool, args []string) {
	var sc modeltest.Scenario
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &sc))
	serve(ts, sc)
}

// fault JSON… serves an answer, "hello", with these faults; then a good one,
// "hello again", for ever.
func fault(ts *testscript.TestScript, _ bool, args []string) {
	turn := modeltest.Say("hello")
	for _, arg := range args {
		var f modeltest.Fault
		ts.Check(json.Unmarshal([]byte(arg), &f))
		turn = turn.With(f)
	}
	sc := modeltest.Script(turn)
	sc.Answer = func(modeltest.Request) modeltest.Turn { return modeltest.Say("hello again") }
	serve(ts, sc)
}

// requests N checks how many the server has had, and that it refused none as
// one that providers refuse.
func requests(ts *testscript.TestScript, _ bool, args []string) {
	server := ts.Value(serverKey{}).(*holder).server
	if got := len(server.Exchanges()); strconv.Itoa(got) != args[0] {
		ts.Fatalf("the server had %d requests, want %s", got, args[0])
	}
	if refused := server.Refusals(); len(refused) > 0 {
		ts.Fatalf("the server refused: %s", strings.Join(refused, "; "))
	}
}

// checkRequestedPaths checks which paths the requests went to, in order.
func checkRequestedPaths(ts *testscript.TestScript, _ bool, args []string) {
	var got []string
	for _, e := range ts.Value(serverKey{}).(*holder).server.Exchanges() {
		got = append(got, e.Path)
	}
	if !slices.Equal(got, args) {
		ts.Fatalf("requests to %q, want %q", got, args)
	}
}

// code N COMMAND… runs the command and checks its exit code.
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("cannot run %q: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf(
			"exit code %d, want %d\nstdout: %s\nstderr: %s",
			got,
			want,
			ts.ReadFile("stdout"),
			ts.ReadFile("stderr"),
		)
	}
}

// alone WORD checks that no process has the word in its command line.
func alone(ts *testscript.TestScript, _ bool, args []string) {
	if left := processes(args[0]); len(left) > 0 {
		ts.Fatalf("still running: %s", strings.Join(left, "; "))
	}
}

// corrupt FILE changes a byte in the middle.
func corrupt(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[len(data)/2] ^= 0xff
	ts.Check(os.WriteFile(path, data, 0o600))
}

// newer FILE writes a log of a later format.
func newer(ts *testscript.TestScript, _ bool, args []string) {
	header := "settle-log 99 "
	sum := crc32.Checksum([]byte(header), crc32.MakeTable(crc32.Castagnoli))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), fmt.Appendf(nil, "%s%08x\n", header, sum), 0o600))
}

// forget FILE KIND removes the first event of the kind from a log, and renumbers the events after
// it: each record is valid, and together they break the contract.
func forget(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	gone := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"kind":"`+args[1]+`"`) })
	if gone < 0 {
		ts.Fatalf("there is no %s in %s", args[1], args[0])
	}
	lines = slices.Delete(lines, gone, gone+1)
	seq := regexp.MustCompile(`"seq":[0-9]+`)
	for i := gone; i < len(lines) && len(lines[i]) > 20; i++ {
		body := lines[i][18:20] + seq.ReplaceAllString(
			strings.TrimSuffix(lines[i][20:], "\n"),
			fmt.Sprintf(`"seq":%d`, i),
		)
		lines[i] = fmt.Sprintf(
			"%08x %08x %s\n", len(body)-2, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)), body,
		)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "")), 0o600))
}

// processes returns the command lines that contain the word.
func processes(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		text := strings.TrimRight(strings.ReplaceAll(string(line), "\x00", " "), " ")
		if err == nil && strings.Contains(text, word) && file != "/proc/"+strconv.Itoa(os.Getpid())+"/cmdline" {
			found = append(found, text)
		}
	}
	return found
}
