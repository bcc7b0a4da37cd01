//go:build compare

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/modeltest"
)

// insideVariable marks the process in the network namespace. peersVariable is the directory with
// the node_modules of the peers.
const insideVariable, peersVariable = "SETTLE_PEERS_INSIDE", "SETTLE_PEERS"

// TestPeers compares settle with curl and with other agents that are installed, on one scripted
// server, and prints tables in Markdown. It runs in a network namespace that has only the
// loopback device, so that no program reaches anything else.
func TestPeers(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		inNamespace(t)
		return
	}
	if err := loopbackUp(); err != nil {
		t.Fatal(err)
	}
	scenario := func(items ...modeltest.Item) *modeltest.Server {
		return modeltest.NewServer(t, modeltest.Scenario{
			Rules: modeltest.Rules{Off: true}, // the requests of other agents are not under test
			Loop:  true, Turns: []modeltest.Turn{modeltest.Reply(items...)},
		})
	}
	one, many := scenario(modeltest.Text("word")), scenario(modeltest.Flood(50_000))
	for _, task := range []task{
		{"An answer of one word", one, 1, 9},
		{"An answer of 50,000 deltas", many, 1, 3},
		{"16 answers of one word at once", one, 16, 3},
	} {
		task.run(t)
	}
}

// inNamespace runs the test once more, in a new network namespace.
func inNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestPeers$", "-test.v", "-test.timeout", "30m")
	cmd.Env = append(os.Environ(), insideVariable+"=1", "SETTLE_BENCH_BINARY="+build(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if id := os.Geteuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("cannot compare in a network namespace: %v", err)
	}
}

// loopbackUp starts the loopback device of the namespace.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// peer is a program to measure.
type peer struct {
	name, binary string
	args, env    []string
	home         string
}

// peers returns the installed programs, configured for the server, and the names of the others. If
// a program has a switch for it, features that need the Internet at each start are off.
func peers(t *testing.T, s *modeltest.Server) (found []peer, missing []string) {
	t.Helper()
	node := os.Getenv(peersVariable)
	add := func(name string, args, env []string, files map[string]string, places ...string) {
		p := peer{name: name, args: args, home: t.TempDir()}
		for _, place := range places {
			at, err := exec.LookPath(place)
			if !strings.Contains(place, "/") && node != "" && err != nil {
				at, err = exec.LookPath(filepath.Join(node, "node_modules/.bin", place))
			} else if all, _ := filepath.Glob(place); len(all) > 0 {
				at, err = all[0], nil
			}
			if err == nil {
				p.binary = at
				break
			}
		}
		if p.binary == "" {
			missing = append(missing, name)
			return
		}
		for file, content := range files {
			path := filepath.Join(p.home, file)
			if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte(content), 0o600) != nil {
				t.Fatalf("cannot write %s", path)
			}
		}
		p.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TERM=dumb"}, env...)
		found = append(found, p)
	}
	add("settle", []string{"run", "-q", "-m", "chat/m", "--base-url", s.OpenAI(), "hi"},
		nil, nil, build(t))
	add("curl", []string{
		"-sSN", "-H", "Content-Type: application/json", "-d",
		`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`, s.OpenAI() + "/chat/completions",
	}, nil, nil, "curl")
	add("Codex", []string{
		"exec", "--skip-git-repo-check", "--disable", "plugins", "-c", "analytics.enabled=false",
		"-m", "gpt-5", "-c", "model_provider=x", "-c",
		`model_providers.x={name="x",base_url="` + s.OpenAI() + `",env_key="KEY",wire_api="responses"}`, "hi",
	}, []string{"KEY=sk-of-the-peer"}, nil,
		node+"/node_modules/@openai/codex-linux-*/vendor/*/bin/codex",
		node+"/node_modules/@openai/codex-linux-*/vendor/*/codex/codex", "codex")
	add("Claude Code", []string{"-p", "hi", "--model", "claude-sonnet-4-5"}, []string{
		"ANTHROPIC_BASE_URL=" + s.Anthropic(), "ANTHROPIC_AUTH_TOKEN=of-the-peer",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}, nil, node+"/node_modules/@anthropic-ai/claude-code-linux-x64/claude", "claude")
	provider := map[string]any{"provider": map[string]any{"x": map[string]any{
		"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": s.OpenAI(), "apiKey": "k"},
		"models": map[string]any{"m": map[string]any{"name": "m"}},
	}}, "autoupdate": false}
	add("opencode", []string{"run", "-m", "x/m", "hi"}, []string{
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	},
		map[string]string{".config/opencode/opencode.json": encoded(provider)},
		node+"/node_modules/opencode-linux-x64/bin/opencode", "opencode")
	models := map[string]any{"providers": map[string]any{"x": map[string]any{
		"baseUrl": s.OpenAI(), "api": "openai-completions", "apiKey": "k", "models": []any{map[string]any{"id": "m"}},
	}}}
	add("pi", []string{"-p", "--provider", "x", "--model", "m", "hi"}, []string{"PI_OFFLINE=1"},
		map[string]string{".pi/agent/models.json": encoded(models)}, "pi")
	return found, missing
}

func encoded(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// spent is the time and the peak memory of a program.
type spent struct {
	wall, cpu time.Duration
	memory    int64 // most of a process that was resident, in bytes; 0 if several ran
}

// run starts the program so many times at once, and waits for all.
func (p peer) run(side int) (total spent, failed error) {
	all, out := make([]*exec.Cmd, side), make([]bytes.Buffer, side)
	began := time.Now()
	for i := range all {
		c := exec.Command(p.binary, p.args...)
		c.Dir, c.Env, c.Stdout, c.Stderr = p.home, p.env, &out[i], &out[i]
		c.WaitDelay = time.Second
		if err := c.Start(); err != nil {
			return spent{}, err
		}
		defer time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() }).Stop()
		all[i] = c
	}
	if side == 1 {
		stop := make(chan struct{})
		watched := watchMemory(all[0].Process.Pid, stop)
		defer func() {
			close(stop)
			total.memory = <-watched
		}()
	}
	for i, c := range all {
		if err := c.Wait(); err != nil || !bytes.Contains(out[i].Bytes(), []byte("word")) {
			failed = fmt.Errorf("%v: %.300s", err, &out[i])
		}
		total.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	total.wall = time.Since(began)
	return total, failed
}

// watchMemory returns the peak resident memory of a process until stop. The number that the system
// reports for an ended process would include the parent's memory at the fork.
func watchMemory(pid int, stop <-chan struct{}) <-chan int64 {
	most := make(chan int64, 1)
	go func() { // ends with stop
		var peak int64
		for tick := time.NewTicker(time.Millisecond); ; {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if _, after, found := bytes.Cut(status, []byte("VmHWM:")); found {
				var kilobytes int64
				if _, err := fmt.Sscan(string(after[:min(40, len(after))]), &kilobytes); err == nil {
					peak = kilobytes << 10
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				tick.Stop()
				most <- peak
				return
			}
		}
	}()
	return most
}

// task is something to measure with each program, in rounds: one program after the other, so
// that another load of the machine reaches all.
type task struct {
	name         string
	server       *modeltest.Server
	side, rounds int
}

func (k task) run(t *testing.T) {
	found, missing := peers(t, k.server)
	took := make([][]spent, len(found))
	for round := -1; round < k.rounds; round++ { // the first round fills caches
		for i, p := range found {
			if p.binary == "" {
				continue
			}
			one, err := p.run(k.side)
			if err != nil {
				fmt.Printf("%s fails, and is left out: %v\n", p.name, err)
				found[i].binary = ""
			} else if round >= 0 {
				took[i] = append(took[i], one)
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("\n%s; %s; %d cores; load %.14s; medians of %d\n\n",
		k.name, time.Now().Format(time.DateOnly), runtime.NumCPU(), load, k.rounds)
	fmt.Print("| Program | Wall, ms | Times settle | CPU, ms | Times settle | Memory, MB | Times settle |\n")
	fmt.Print("| --- | --- | --- | --- | --- | --- | --- |\n")
	base := median(took[0])
	for i, p := range found {
		if p.binary == "" {
			continue
		}
		m := median(took[i])
		fmt.Printf("| %s | %d | %.2f | %d | %.2f | %d | %.2f |\n", p.name,
			m.wall.Milliseconds(), float64(m.wall)/float64(base.wall),
			m.cpu.Milliseconds(), float64(m.cpu)/float64(base.cpu),
			m.memory>>20, float64(m.memory)/float64(max(base.memory, 1)))
	}
	if len(missing) > 0 {
		fmt.Printf("\nnot installed, and left out: %s\n", strings.Join(missing, ", "))
	}
}

// median returns the median of each value.
func median(all []spent) (m spent) {
	if len(all) == 0 {
		return spent{1, 1, 1}
	}
	middle := func(of func(spent) int64) int64 {
		values := make([]int64, len(all))
		for i, s := range all {
			values[i] = of(s)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	m.wall = time.Duration(middle(func(s spent) int64 { return int64(s.wall) }))
	m.cpu = time.Duration(middle(func(s spent) int64 { return int64(s.cpu) }))
	m.memory = middle(func(s spent) int64 { return s.memory })
	return m
}
