//go:build clients && linux

package clients

import (
	"bufio"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/modeltest"
)

// execServer starts an exec-server, and returns it with its address.
func execServer(t testing.TB, c client) (cmd *exec.Cmd, address string) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = c.dir, os.Stderr, 5*time.Second
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

// ours and theirs are the exec-servers of settle and of the pinned Codex.
func ours(t *testing.T, args ...string) client {
	return client{
		argv: append([]string{settle(t), "exec-server", "--listen", "ws://127.0.0.1:0"}, args...),
		dir:  t.TempDir(),
		env:  home(t),
	}
}

func theirs(t *testing.T) client {
	all, err := filepath.Glob(filepath.Join(packages(t), "node_modules/@openai/codex-linux-x64/vendor/*/bin/codex"))
	if err != nil || len(all) != 1 {
		t.Fatalf("codex is at %v, %v", all, err)
	}
	return client{argv: []string{all[0], "exec-server", "--listen", "ws://127.0.0.1:0"}, dir: t.TempDir(), env: home(t)}
}

// codexOn is the unmodified Codex with its commands on an exec-server.
func codexOn(t *testing.T, address, dir, sandbox string, turns ...modeltest.Turn) result {
	sc := modeltest.Script(turns...)
	sc.Rules.Off = true // the requests of codex are not under test
	srv := modeltest.NewServer(t, sc)
	c := bin(
		t, "codex", "exec", "--json", "--skip-git-repo-check", "-s", sandbox, "-m", "gpt-5", "-c", "model_provider=x",
		"-c",
		`model_providers.x={name="x",base_url="`+srv.OpenAI()+`",env_key="CODEX_API_KEY",request_max_retries=0,stream_max_retries=0}`,
	)
	c.env = home(
		t, "CODEX_API_KEY=sk-of-the-client-1234567890", "CODEX_HOME="+t.TempDir(), "CODEX_EXEC_SERVER_URL="+address,
	)
	c.stdin, c.dir = "go", dir
	return c.run(t)
}

// commands returns the commands that codex has run, with their output and exit code.
func commands(t *testing.T, r result) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		var e struct {
			Type string
			Item struct {
				Type, Command string
				Output        string `json:"aggregated_output"`
				Code          *int   `json:"exit_code"`
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Type == "item.completed" && e.Item.Type == "command_execution" && e.Item.Code != nil {
			all[e.Item.Command] = e.Item.Output + "exit " + string(rune('0'+*e.Item.Code))
		}
	}
	return all
}

func execCommand(command string) modeltest.Turn {
	args, _ := json.Marshal(
		map[string]any{"cmd": command, "yield_time_ms": 30_000},
	) // the most; it ends with the command
	return modeltest.Reply(modeltest.Call("exec_command", string(args)))
}

// A turn of the unmodified Codex has its commands and its changes on settle's
// exec-server, and leaves nothing there.
func TestExecServerServesCodex(t *testing.T) {
	dir := t.TempDir()
	server := ours(t)
	mark := "MARK=" + filepath.Base(filepath.Dir(dir))
	server.env = append(server.env, mark)
	cmd, address := execServer(t, server)
	background, _ := json.Marshal(
		map[string]any{
			"cmd":           "setsid sleep 1000 & (setsid sh -c 'setsid sleep 1000 &' &); while :; do sleep 1000; done",
			"yield_time_ms": 300,
		},
	)
	r := codexOn(
		t,
		address,
		dir,
		"danger-full-access",
		execCommand("echo out; echo more; exit 3"),
		execCommand("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: sub/a.txt\n+one\n*** End Patch\nEOF"),
		execCommand(
			"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: sub/a.txt\n@@\n-one\n+two\n*** End Patch\nEOF",
		),
		execCommand("cat sub/a.txt; seq 20000 | tail -1; setsid sleep 1000 >/dev/null 2>&1 &"),
		modeltest.Reply(modeltest.Call("exec_command", string(background))),
		modeltest.Say("Done."),
	)
	if r.code != 0 || !strings.Contains(r.stdout, `"turn.completed"`) {
		t.Fatalf("exit %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	ended := commands(t, r)
	for command, want := range map[string]string{"echo out;": "out\nmore\nexit 3", "cat sub/a.txt;": "two\n20000\nexit 0"} {
		got := "nothing"
		for line, output := range ended {
			if strings.Contains(line, command) {
				got = output
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q\n%s", command, got, want, r.stdout)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "sub/a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	awaitNoProcess(t, mark, goneTimeout)
}

// settle's exec-server forbids, by the kernel, everything that Codex's sandbox forbids.
func TestExecServerConfinesCodex(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "known"), []byte("known\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, address := execServer(t, ours(t))
	r := codexOn(
		t,
		address,
		dir,
		"read-only",
		execCommand("cat known; echo x >new || echo refused"),
		modeltest.Say("Done."),
	)
	var outputs string
	for _, output := range commands(t, r) {
		outputs += output
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil || !strings.Contains(outputs, "known\n") ||
		!strings.Contains(outputs, "refused\n") {
		t.Errorf("new: %v\n%s\n%s", err, r.stdout, r.stderr)
	}
}

// Requests get the answers that the pinned Codex gives: the same fields, and the same
// codes of errors.
func TestExecServerAnswersAreCodexs(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"file": "text", "sub/other": "more"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "sub", "sub/up": "..", "fileLink": "file", "dangling": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, our := execServer(t, ours(t))
	_, their := execServer(t, theirs(t))
	a, b := execservertest.Dial(t, our, http.Header{}), execservertest.Dial(t, their, http.Header{})
	at := func(name string) string { return (&url.URL{Scheme: "file", Path: filepath.Join(dir, name)}).String() }
	// Outputs, exits and ends of a process are numbered as they happen: if a command exits while
	// its output is on the way, both orders are possible, on either server. So each event waits at
	// its gate, which opens when the client has received the events before.
	gates := map[*execservertest.Client]*gate{a: newGate(t), b: newGate(t)}
	start := func(id, script string) map[string]any { return execservertest.Start(id, script, dir, "none") }
	type object = map[string]any
	try := func(c *execservertest.Client, method string, params object) any {
		if env, ok := params["env"].(map[string]string); ok {
			env["GATE"] = gates[c].path
		}
		return form(t, c.Try(method, params))
	}
	// Each method is called once. Steps that are not methods wait: "output" and "exit" wait until a
	// process has done that and then open its gate, "end" waits for its end.
	for _, ask := range []struct {
		method string
		params object
	}{
		{"environment/info", nil},
		{"initialize", object{}},
		{"initialize", object{"clientName": "x", "resumeSessionId": "00000000-0000-0000-0000-000000000000"}},
		{"initialize", object{"clientName": "x"}},
		{"environment/status", nil},
		{"initialized", nil},
		{"environment/info", nil},
		{"environment/status", nil},
		{"initialize", object{"clientName": "x"}},
		{"no/such/method", nil},
		{"process/start", start("p", "echo out; read x <$GATE; exit 3")},
		{"process/start", start("p", "exit 5")},
		{"output", object{"processId": "p"}},
		{"end", object{"processId": "p"}},
		{"process/read", object{"processId": "p"}},
		{"process/read", object{"processId": "p", "afterSeq": 1, "maxBytes": 1, "waitMs": 5}},
		{"process/start", start("late", "echo one; read x <$GATE; { read x <$GATE; echo late; } & exit 4")},
		{"output", object{"processId": "late"}},
		{"exit", object{"processId": "late"}},
		{"end", object{"processId": "late"}},
		{"process/read", object{"processId": "late"}},
		{"process/read", object{"processId": "late", "maxBytes": 0}},
		{"process/read", object{"processId": "late", "maxBytes": 4}}, // "one" and its end of line
		{"process/read", object{"processId": "late", "maxBytes": 5}},
		{"process/read", object{"processId": "late", "maxBytes": 9}},
		{"process/read", object{"processId": "late", "maxBytes": 10}},
		{"process/read", object{"processId": "late", "afterSeq": 1, "maxBytes": 1, "waitMs": 5}},
		{"process/read", object{"processId": "late", "afterSeq": 2}},
		{"process/read", object{"processId": "late", "afterSeq": 3}},
		{"process/read", object{"processId": "late", "afterSeq": 9}},
		{"process/read", object{"processId": "nobody"}},
		{"process/write", object{"processId": "nobody", "chunk": "aGk=", "writeId": "1"}},
		{"process/write", object{"processId": "p", "chunk": "aGk=", "writeId": "1"}},
		{"process/signal", object{"processId": "nobody", "signal": "interrupt"}},
		{"process/signal", object{"processId": "nobody", "signal": "other"}},
		{"process/terminate", object{"processId": "nobody"}},
		{"process/terminate", object{"processId": "p"}},
		{"process/terminate", object{}},
		{"process/start", object{"processId": "q", "argv": []string{}, "cwd": at(""), "env": object{}, "tty": false, "arg0": nil}},
		{"process/start", object{"processId": "q", "argv": []string{"sh"}, "cwd": dir, "env": object{}, "tty": false, "arg0": nil}},
		{"fs/readFile", object{"path": at("file")}},
		{"fs/readFile", object{"path": at("none")}},
		{"fs/readFile", object{"path": at("sub")}},
		{"fs/readFile", object{"path": dir}},
		{"fs/writeFile", object{"path": at("file"), "dataBase64": "aGk="}},
		{"fs/writeFile", object{"path": at("none/file"), "dataBase64": "aGk="}},
		{"fs/open", object{"handleId": "h", "path": at("file")}},
		{"fs/readBlock", object{"handleId": "h", "offset": 0, "len": 1}},
		{"fs/readBlock", object{"handleId": "h", "offset": 1, "len": 100}},
		{"fs/close", object{"handleId": "h"}},
		{"fs/close", object{"handleId": "h"}},
		{"fs/readBlock", object{"handleId": "h", "offset": 0, "len": 1}},
		{"fs/getMetadata", object{"path": at("link")}},
		{"fs/getMetadata", object{"path": at("none")}},
		{"fs/canonicalize", object{"path": at("link/other")}},
		{"fs/canonicalize", object{"path": at("none")}},
		{"fs/readDirectory", object{"path": at("sub")}},
		{"fs/readDirectory", object{"path": at("none")}},
		{"fs/walk", object{"path": at(""), "options": object{"maxDepth": 5, "maxDirectories": 50, "maxEntries": 50, "followDirectorySymlinks": false}}},
		{"fs/walk", object{"path": at(""), "options": object{"maxDepth": 1, "maxDirectories": 50, "maxEntries": 50, "followDirectorySymlinks": true}}},
		{"fs/walk", object{"path": at("link"), "options": object{"maxDepth": 5, "maxDirectories": 1, "maxEntries": 50, "followDirectorySymlinks": true}}},
		{"fs/walk", object{"path": at(""), "options": object{"maxDepth": 5, "maxDirectories": 50, "maxEntries": 2, "followDirectorySymlinks": false}}},
		{"fs/walk", object{"path": at("none"), "options": object{"maxDepth": 5, "maxDirectories": 50, "maxEntries": 50, "followDirectorySymlinks": false}}},
		{"fs/walk", object{"path": at("sub")}},
		{"fs/createDirectory", object{"path": at("x"), "recursive": true}},
		{"fs/createDirectory", object{"path": at("sub"), "recursive": false}},
		{"fs/copy", object{"sourcePath": at("file"), "destinationPath": at("copy"), "recursive": false}},
		{"fs/copy", object{"sourcePath": at("sub"), "destinationPath": at("copies"), "recursive": false}},
		{"fs/copy", object{"sourcePath": at("none"), "destinationPath": at("copies"), "recursive": false}},
		{"fs/remove", object{"path": at("none"), "force": false}},
		{"fs/remove", object{"path": at("none")}},
	} {
		switch ask.method {
		case "initialized":
			a.Send(`{"method":"initialized"}`)
			b.Send(`{"method":"initialized"}`)
			continue
		case "output", "exit":
			id := ask.params["processId"].(string)
			is := func(d execservertest.Done) bool { return ask.method == "output" && d.Text != "" || d.Exited != nil }
			b.Until(id, ask.method, is)
			a.Until(id, ask.method, is)
			gates[a].open()
			gates[b].open()
			continue
		case "end":
			id := ask.params["processId"].(string)
			end := func(c *execservertest.Client) execservertest.Done {
				// Codex can report the end before the exit.
				d := c.Until(id, "the end", func(d execservertest.Done) bool { return d.Closed && d.Exited != nil })
				d.Seqs = slices.Sorted(slices.Values(d.Seqs))
				return d
			}
			if diff := cmp.Diff(end(b), end(a)); diff != "" {
				t.Errorf("notifications of %s (-codex +settle):\n%s", id, diff)
			}
			continue
		}
		if diff := cmp.Diff(try(b, ask.method, ask.params), try(a, ask.method, ask.params)); diff != "" {
			t.Errorf("%s %v (-codex +settle):\n%s", ask.method, ask.params, diff)
		}
	}
}

// gate is a FIFO from which a process reads a line to go on.
type gate struct {
	t    *testing.T
	path string
	file *os.File
}

func newGate(t *testing.T) *gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// Opened for reading as well: then written data stay for a later reader.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &gate{t, path, f}
}

// open lets one process go on.
func (g *gate) open() {
	g.t.Helper()
	if _, err := g.file.WriteString("go\n"); err != nil {
		g.t.Fatal(err)
	}
}

// form is an answer without the parts that differ between servers.
func form(t *testing.T, a execservertest.Answer) any {
	t.Helper()
	if a.Error != nil {
		return a.Error.Code
	}
	var result map[string]any
	if err := json.Unmarshal(a.Result, &result); err != nil {
		t.Fatal(err)
	}
	delete(result, "providerId") // names the same provider in several results
	if info, ok := result["environmentInfo"].(map[string]any); ok {
		delete(info, "providerId")
		result["environmentInfo"] = slices.Sorted(maps.Keys(info))
	}
	if _, ok := result["executorVersion"]; ok {
		return slices.Sorted(maps.Keys(result))
	}
	for _, name := range []string{"sessionId", "modifiedAtMs", "createdAtMs"} {
		if _, ok := result[name]; ok {
			result[name] = "x"
		}
	}
	if entries, ok := result["entries"].([]any); ok {
		slices.SortFunc(entries, func(a, b any) int {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return strings.Compare(string(x), string(y))
		})
	}
	return result
}

// C7, beside Codex's exec-server, which settle replaces: how many processes survive 14
// escapes. docs/clients/codex-exec-server.md has the table.
func TestExecServerSurvivors(t *testing.T) {
	for name, server := range map[string]client{"settle": ours(t, "--resume-timeout", "0"), "codex": theirs(t)} {
		matrix := execservertest.Matrix{
			Server: func(t testing.TB) execservertest.Server {
				cmd, address := execServer(t, server)
				return execservertest.Server{URL: address, Kill: func() { _ = cmd.Process.Kill() }}
			},
			KillClient: func(t testing.TB, env ...string) {
				cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
				cmd.Env, cmd.Stderr = env, os.Stderr
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = bufio.NewReader(out).ReadString('\n') // that it is ready
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			},
			Left: func(_ testing.TB, ending, mark string) (left []string) {
				patience := goneTimeout
				if name == "codex" {
					patience = map[string]time.Duration{"terminate": 5 * time.Second, "kill -9 of the server": 5 * time.Second}[ending]
					if patience == 0 {
						patience = 40 * time.Second // it keeps a session for 30 s
					}
				}
				left = execservertest.AwaitNone(mark, patience)
				for _, line := range left {
					pid, _, _ := strings.Cut(line, " ")
					if n, err := strconv.Atoi(pid); err == nil {
						_ = syscall.Kill(n, syscall.SIGKILL)
					}
				}
				return left
			},
		}
		for ending, escapes := range matrix.Survivors(t) {
			processes, escaped := 0, 0
			for escape, left := range escapes {
				processes += left
				if left > 0 {
					escaped++
				}
				if name == "settle" && left > 0 {
					t.Errorf("%s, %s: %d survive", ending, escape, left)
				}
			}
			t.Logf(
				"%s: %s: %d of %d escapes leave something, %d processes in all", name, ending, escaped, len(escapes),
				processes,
			)
		}
	}
}
