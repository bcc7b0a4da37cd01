package policy_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

var (
	commandCount = flag.Int(
		"commands", 0, "how many commands the oracle draws, beside all of the corpus; 0: a share of both",
	)
	commandSeed = flag.Uint64("commands-seed", 1, "what the oracle draws them from; 0: the clock")
)

// judgement reports whether a command would run without an approval.
type judgement func(w *world, command string) bool

func real(w *world, command string) bool {
	return w.policy.Judge(shell(w.t, command)).Decision == event.Allow
}

// The oracle is execution: every allowed command runs in hostile directories with each
// installed shell, and does no harm.
func TestOracle(t *testing.T) { consult(t, *commandCount, 20, newWorld) }

// Every allowed command also runs in its sandbox, and does no harm there.
func TestSandboxedOracle(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	consult(t, 0, max(6, *commandCount/13), newSandboxedWorld)
}

// consult runs the allowed commands of the corpus and of drawn commands. If no number of drawn
// commands is given, it runs a share of both, each in two of the directories, with every second
// shell, and in the next directory with the others.
func consult(t *testing.T, drawn, share int, newWorld func(testing.TB, string) *world) {
	seed := *commandSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	random := rand.New(rand.NewPCG(seed, 1))
	commands := slices.Concat(lines(t, "everyday.txt"), lines(t, "harmful.txt"), lines(t, "options.txt"))
	corpus := slices.Concat(commands, lines(t, "traps.txt"))
	if drawn == 0 { // a share
		random.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
		commands, drawn = commands[:share], share
	}
	everyShell := *commandCount > 0
	commands = append(commands, lines(t, "traps.txt")...)
	g := generator{random: random, corpus: corpus}
	for range drawn {
		commands = append(commands, g.command())
	}
	var mu sync.Mutex
	allowed, runs := map[string]bool{}, 0
	t.Run("worlds", func(t *testing.T) {
		for n, kind := range worldKinds() {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, kind)
				for i, command := range commands {
					if (i >= len(commands)-drawn || !everyShell) && (i+n)%3 != 0 {
						continue // drawn commands run in two of the worlds
					}
					if !everyShell {
						w.leaveOut = func(shell int) bool { return len(w.shells) > 1 && (shell+i+n)%2 == 1 }
					}
					ran, harm := w.try(real, command)
					if harm != "" {
						t.Errorf("seed %d: %q is allowed, and %s", seed, command, harm)
						w = newWorld(t, kind)
					}
					if ran > 0 {
						mu.Lock()
						allowed[command], runs = true, runs+ran
						mu.Unlock()
					}
				}
				if left := w.processes(); left != "" {
					t.Errorf("a process is left: %s", left)
				}
			})
		}
	})
	t.Logf(
		"seed %d: %d commands (%d of the corpus, %d drawn), %d of them allowed, run %d times",
		seed,
		len(commands),
		len(commands)-drawn,
		drawn,
		len(allowed),
		runs,
	)
	if len(allowed) < len(commands)/10 {
		t.Error("hardly anything is allowed; the oracle says nothing")
	}
}

// The oracle can fail: it detects each planted hole.
func TestOracleFindsHoles(t *testing.T) {
	for _, hole := range []struct{ hole, as, command, harm string }{
		{"an option that writes", " -o pwned", "sort a.txt -o pwned", "changed"},
		{"an option that removes", " -delete", "find sub -name x.go -delete", "changed"},
		{"an option that runs", " -exec ./ls {} +", "find . -name a.txt -exec ./ls {} +", "ran"},
		{"a path that is run", "./", "./ls", "ran"},
		{"a file with secrets", " .env", "cat a.txt .env", "secret"},
		{"the environment", "| env", "true | env", "secret"},
		{"a process in the background", " & sleep 60", "true & sleep 60 & true", "left"},
	} {
		t.Run(hole.hole, func(t *testing.T) {
			w := newWorld(t, "plain")
			planted := func(w *world, command string) bool { return real(w, strings.ReplaceAll(command, hole.as, "")) }
			if hole.harm == "left" {
				planted = func(*world, string) bool { return true }
			}
			if real(w, hole.command) {
				t.Fatalf("%q is allowed without a hole", hole.command)
			}
			_, harm := w.try(planted, hole.command)
			if harm == "" {
				harm = w.processes()
			}
			if !strings.Contains(harm, hole.harm) {
				t.Errorf("%q: the oracle says %q, want %q", hole.command, harm, hole.harm)
			}
		})
	}
}

// The sandbox holds when the policy fails: no file changes, no program of the directory
// runs outside it, no process remains.
func TestSandboxHoldsWhenPolicyFails(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	w := newSandboxedWorld(t, "plain")
	for _, command := range []string{"sort a.txt -o pwned", "find sub -name x.go -delete", "find . -name a.txt -exec ./ls {} +", "./ls", "true & sleep 60 & true", "echo x >a.txt", "touch ../home/x", "rm -r sub", "mv a.txt b.txt"} {
		if _, harm := w.try(func(*world, string) bool { return true }, command); harm != "" {
			t.Errorf("%q: %s", command, harm)
		}
	}
	if left := w.processes(); left != "" {
		t.Errorf("a process is left: %s", left)
	}
}

const secretText = "CANARY-OF-A-SECRET"

// world is a hostile directory and its surroundings.
type world struct {
	t               testing.TB
	root, work, ran string
	marker          string
	environ         []string
	policy          *policy.Policy
	shells          [][]string
	before          map[string]string
	confinement     *sandbox.Policy // of all commands; nil for none
	leaveOut        func(shell int) bool
}

// newSandboxedWorld returns a world whose commands run in the sandbox of reading commands.
func newSandboxedWorld(t testing.TB, kind string) *world {
	w := newWorld(t, kind)
	confinement := sandbox.ReadOnly(
		filepath.Join(w.root, "home"), "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", w.work,
	)
	w.confinement = &confinement
	return w
}

func worldKinds() []string {
	return []string{"plain", "open", "repository", "tracked", "evil", "submodule"}
}

func newWorld(t testing.TB, kind string) *world {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t:      t,
		root:   root,
		work:   filepath.Join(root, "work"),
		ran:    filepath.Join(root, "ran"),
		marker: "SETTLE_ORACLE=" + root,
	}
	w.environ = []string{
		"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + filepath.Join(root, "tmp"),
		"LANG=C.UTF-8", "SECRET=" + secretText, "GOTOOLCHAIN=auto", "GOPROXY=off", "GOFLAGS=-mod=mod", w.marker,
	}
	if w.policy, err = policy.New(policy.Config{Mode: mode(event.Ask), Dir: w.work, Home: filepath.Join(root, "home"), Environ: w.environ}); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"bash", "-c"},
		{"dash", "-c"},
		{"busybox", "sh", "-c"},
		// BSD's order of options: none after the first operand.
		{"env", "POSIXLY_CORRECT=1", "dash", "-c"},
	} {
		if path, err := exec.LookPath(argv[0]); err == nil {
			w.shells = append(w.shells, append([]string{path}, argv[1:]...))
		}
	}
	if len(w.shells) == 0 {
		w.shells = [][]string{{"/bin/sh", "-c"}}
	}
	w.fill(kind)
	w.before = w.snapshot()
	return w
}

// try runs an allowed command with each shell, and returns the harm that it did. The
// directory is compared once, after all shells.
func (w *world) try(allows judgement, command string) (runs int, harm string) {
	if !allows(w, command) {
		return 0, ""
	}
	for n, shell := range w.shells {
		if w.leaveOut != nil && w.leaveOut(n) {
			continue
		}
		runs++
		out, left := w.run(append(shell[:len(shell):len(shell)], command))
		harm = left
		if bytes.Contains(out, []byte(secretText)) {
			harm = "it shows a secret"
		}
		if data, err := os.ReadFile(w.ran); err == nil {
			harm = "it ran " + strings.TrimSpace(string(data))
		}
		if harm != "" {
			return runs, fmt.Sprintf("with %s %s, in %s", filepath.Base(shell[0]), harm, w.work)
		}
	}
	if harm = difference(w.before, w.snapshot()); harm != "" {
		return runs, fmt.Sprintf("with one of %d shells %s, in %s", len(w.shells), harm, w.work)
	}
	return runs, ""
}

// run runs a command, and reports whether it leaves a process.
func (w *world) run(argv []string) (out []byte, harm string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	if w.confinement != nil {
		result, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: w.work, Env: w.environ, Sandbox: w.confinement})
		// a program that the sandbox lacks is no harm
		if err != nil && ctx.Err() == nil && !strings.Contains(err.Error(), "cannot start") {
			w.t.Error(err)
		}
		// process tracking ends remaining processes; consult checks it
		return append(result.Stdout, result.Stderr...), ""
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	_ = cmd.Run() // a failure is no harm
	if ctx.Err() == nil && cmd.Process != nil {
		if err := syscall.Kill(-cmd.Process.Pid, 0); err == nil && w.processes() != "" {
			harm = "a process is left: " + w.processes()
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	return both.Bytes(), harm
}

// processes returns the processes with the marker in their environment.
func (w *world) processes() (left string) {
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range list {
		if data, err := os.ReadFile(path); err == nil &&
			slices.Contains(strings.Split(string(data), "\x00"), w.marker) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			left += " left: " + strings.ReplaceAll(string(name), "\x00", " ")
		}
	}
	return left
}

// snapshot has each file around the working directory. Two files are exempt: git records in
// its index when it last read files, and go counts its calls.
func (w *world) snapshot() map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(w.root, path)
		if name == filepath.Join("home", ".config") {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || path == w.ran {
			return nil
		}
		what := fmt.Sprint(info.Mode())
		if !entry.IsDir() && filepath.Base(path) != "index" {
			what += fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
		files[name] = what
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

func difference(before, after map[string]string) string {
	for name, what := range after {
		if before[name] != what {
			return "changed " + name
		}
	}
	for name := range before {
		if after[name] == "" {
			return "changed: removed " + name
		}
	}
	return ""
}
