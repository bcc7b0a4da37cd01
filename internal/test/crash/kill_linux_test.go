package crash

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/modeltest/leak"
)

const (
	// kills is how often is killed unless CRASHES says otherwise.
	kills = 18
	// side is how many runs are killed side by side.
	side = 6
	// patience bounds the wait for an event. No result is measured against it: a test that passes
	// never waits that long.
	patience = 30 * time.Second
	// mark is the variable by which a run's processes are known.
	mark = "SETTLE_CRASH_TEST"
	// role makes this test binary a server that a command starts.
	role = "SETTLE_CRASH_SERVER"
)

func TestMain(m *testing.M) {
	setsid.Command()
	if name := os.Getenv(role); name != "" {
		serve(name)
	}
	code := leak.Run(setsid.With(m))
	removeBuilt()
	os.Exit(code)
}

// serve holds an address that is free again when the process is gone.
func serve(name string) {
	l, err := net.Listen("unix", name)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for {
		if _, err := l.Accept(); err != nil {
			os.Exit(1)
		}
	}
}

// foregrounds are commands that go on until they are ended, each with another
// way to get away. "@" stands for an address to serve at.
func foregrounds() []string {
	return []string{
		"sleep 1000",
		"trap '' TERM INT HUP; sleep 1000; sleep 1000",
		"setsid sleep 1000 & sleep 1000",
		"(setsid sh -c '(setsid sleep 1000 &)' &); sleep 1000",
		"nohup sleep 1000 >/dev/null 2>&1 & sleep 1000",
		"(trap '' TERM INT HUP; setsid sh -c 'sleep 1000 & sleep 1000' &); wait; sleep 1000",
		"sleep 1000 & kill -STOP $!; sleep 1000",
		"sh -c 'exec <&- >&- 2>&-; setsid sleep 1000 & sleep 1000'",
		role + "=@ $SELF",
		"setsid env " + role + "=@ $SELF & sleep 1000",
		"chain() { if [ $1 -gt 0 ]; then chain $(($1-1)) & else sleep 1000; fi; }; chain 40; sleep 1000",
		"while :; do echo more; done",
	}
}

// script returns the scenario of the model: short calls, jobs, then calls that do not end.
func script(r *rand.Rand, address string) modeltest.Scenario {
	n := 0
	sh := func(command, more string) modeltest.Item {
		n++
		command = strings.ReplaceAll(command, "@", address+strconv.Itoa(n))
		return modeltest.Call("shell", fmt.Sprintf(`{"command":%q%s}`, command, more))
	}
	all := foregrounds()
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return modeltest.Script(
		modeltest.Reply(modeltest.Text("I go on.")).For("what happened now"),
		modeltest.Reply(modeltest.Text("First this."), sh("echo once >> once", ""), sh("echo more; exit 3", "")).
			Paced(time.Millisecond),
		modeltest.Reply(sh("setsid sleep 1000 >/dev/null 2>&1 &", ""), sh(role+"=@ $SELF", `,"background":true`)),
		modeltest.Reply(modeltest.Text("Now the rest."), sh(all[0], ""), sh(all[1], ""), sh(all[2], ""), sh("echo once >> last", "")).
			Paced(time.Millisecond),
		modeltest.Say("Done."),
	)
}

// victim is one session that is killed.
type victim struct {
	settle
	ctx     context.Context
	dir     string // its home
	work    string // where it works
	name    string
	session string // its ID
	server  *modeltest.Server
	model   []string

	inFlight int           // processes of commands when it was killed
	cleanup  time.Duration // until nothing was left of them
}

func (v *victim) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(v.ctx, v.path, args...)
	cmd.Dir = v.work
	cmd.WaitDelay = time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + v.dir, "SETTLE_DATA_DIR=" + filepath.Join(v.dir, "data"),
		mark + "=" + v.name, "SELF=" + os.Args[0],
		"OPENAI_API_KEY=key-of-a-test", "ANTHROPIC_API_KEY=key-of-a-test",
	}
	return cmd
}

func (v *victim) run(prompt string, flags ...string) *exec.Cmd {
	args := slices.Concat([]string{"run", "--json", "--session", v.session}, v.model, flags)
	return v.command(append(args, prompt)...)
}

// strike starts settle and kills it some time after its k-th event, or when the time is
// over.
func (v *victim) strike(cmd *exec.Cmd, k int, later, latest time.Duration) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	shown := make(chan struct{})
	go func() { // ends with the output
		lines := bufio.NewReader(out)
		for seen := 0; ; seen++ {
			if seen == k {
				close(shown)
			}
			if _, err := lines.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
		}
	}()
	select {
	case <-shown:
	case <-time.After(latest): // it may not get that far: its calls go on for ever
	}
	<-time.After(later)
	v.inFlight = len(v.survivors()) - 1 // without settle itself
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return nil
}

// survivors are the processes that carry the run's mark.
func (v *victim) survivors() (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(raw), "\x00"), mark+"="+v.name) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		list = append(list, filepath.Base(filepath.Dir(file))+" "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return list
}

// awaitGone waits until nothing is left, and returns how long that took; 0 if
// nothing was.
func (v *victim) awaitGone() (time.Duration, error) {
	from := time.Now()
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	var last time.Duration // when a process was seen last
	for empty := 0; ; {
		left := v.survivors()
		if empty++; len(left) > 0 {
			empty, last = 0, time.Since(from)
		}
		if empty == 2 { // one look can miss a process that is replacing its program
			return last, nil
		}
		if time.Since(from) > patience {
			return 0, fmt.Errorf("%d processes survive: %v", len(left), left)
		}
		<-tick.C
	}
}

// goOn completes the next turn of the session.
func (v *victim) goOn(flags ...string) error {
	cmd := v.run("what happened now", flags...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the next turn: %w\n%s", err, said.String())
	}
	if refused := v.server.Refusals(); len(refused) > 0 {
		return fmt.Errorf("the server refused: %v", refused)
	}
	return nil
}

// events reads the log of a session, which must keep the contract and be closed.
func (v *victim) events(session string) (events []event.Event, err error) {
	raw, err := v.says("sessions", "export", session)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(raw) {
		var e event.Event
		if err := e.UnmarshalJSON([]byte(line)); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	if err := contract.Check(events); err != nil {
		return nil, err
	}
	if _, closed := events[len(events)-1].Data.(event.SessionClosed); !closed {
		return nil, fmt.Errorf("the log ends with %s", events[len(events)-1].Kind())
	}
	return events, nil
}

// examine checks the log and the effects of the calls.
func (v *victim) examine() error {
	if _, err := v.events(v.session); err != nil {
		return err
	}
	for _, file := range []string{"once", "last"} { // C5
		if text, err := os.ReadFile(filepath.Join(v.work, file)); err == nil &&
			len(text) > len("once\n") { // less: it was killed as it wrote
			return fmt.Errorf("a call was made more than once: %s is %q", file, text)
		}
	}
	return nil
}

// addressesFree checks that nobody serves any more.
func addressesFree(address string) error {
	for n := range 9 {
		l, err := net.Listen("unix", address+strconv.Itoa(n))
		if err != nil {
			return err
		}
		_ = l.Close()
	}
	return nil
}

// kill is one round.
func (s settle) kill(t *testing.T, n int, r *rand.Rand) (v *victim, err error) {
	address := fmt.Sprintf("@settle-crash-%d-%d-", os.Getpid(), n)
	v, end, err := s.victim(t, n, r, script(r, address))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	micros := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Microsecond }
	if err := v.strike(v.run("go"), r.IntN(120), micros(40_000), 50*time.Millisecond+micros(1_100_000)); err != nil {
		return v, err
	}
	if r.IntN(2) == 0 { // else it is opened again at once
		if v.cleanup, err = v.awaitGone(); err != nil {
			return v, err
		}
	}
	if err := v.goOn(); err != nil {
		return v, err
	}
	// The opening of a session waits for the processes that clean up after the last host.
	if left := v.survivors(); len(left) > 0 {
		return v, fmt.Errorf("the session is open again, and there still are: %v", left)
	}
	return v, errors.Join(v.examine(), addressesFree(address))
}

// tally has the results of all rounds.
type tally struct {
	mu                         sync.Mutex
	kills, withOnes, processes int
	times                      []time.Duration
}

func (c *tally) add(v *victim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills++
	c.processes += v.inFlight
	if v.inFlight > 0 {
		c.withOnes++
	}
	if v.cleanup > 0 {
		c.times = append(c.times, v.cleanup)
	}
}

func (c *tally) String() string {
	slices.Sort(c.times)
	text := fmt.Sprintf(
		"%d kills, %d of them with commands in flight, %d processes in all; no survivors", c.kills, c.withOnes,
		c.processes,
	)
	if n := len(c.times); n > 0 {
		text += fmt.Sprintf("; %d waited for: p50 %v, p99 %v", n, c.times[n/2], c.times[n*99/100])
	}
	return text
}

// C7, C5, C20 and C6 against the real binary and kill -9.
func TestKill9(t *testing.T) {
	s := built(t)
	var all tally
	rounds(t, kills, func(n int, r *rand.Rand) error {
		v, err := s.kill(t, n, r)
		if err == nil {
			all.add(v)
		}
		return err
	})
	t.Log(all.String())
	s.ended(t)
}
