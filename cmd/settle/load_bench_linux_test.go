package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// loadWindow is the duration of a measurement, after loadLead, in which everything starts.
const (
	loadLead   = 3 * time.Second
	loadWindow = 10 * time.Second

	loadClients = 16  // clients of the server, each with an address and connections of its own
	loadPrompts = 512 // prompts that are sent at the same time: each waits for a server that streams already
)

// BenchmarkServe measures a server with many sessions, each of which streams 20 deltas a second to
// two subscribers: memory and CPU of the server, and the time from when the model's server writes a
// delta until a subscriber has read it. The model's server is another process, and the subscribers
// are in this process; the benchmark reports their cost, since all share the machine. A session
// without subscribers shows the cost of the session alone. Budget: 1,000 sessions with one
// subscriber each and a p99 of 50 ms, with the server on one core, and the model and the
// subscribers on another.
func BenchmarkServe(b *testing.B) {
	for _, size := range []struct {
		sessions, subscribers int
		apart                 bool
	}{
		{0, 0, false},
		{300, 0, false},
		{300, 1, false},
		{1000, 0, false},
		{100, 2, false},
		{300, 2, false},
		{700, 2, false},
		{1000, 2, false},
		{1000, 1, false},
		{1000, 1, true},
		{5000, 1, false}, // more than two cores can do: deltas have to be merged
	} {
		name := fmt.Sprintf("sessions=%d/subscribers=%d", size.sessions, size.sessions*size.subscribers)
		if size.apart {
			name += "/apart"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l := startLoad(b, size.apart)
				l.run(size.sessions, size.subscribers)
				l.stop()
			}
		})
	}
}

// load is a server under load.
type load struct {
	*testing.B

	model, server *exec.Cmd
	idle          io.Closer // ends the model's server
	all           unix.CPUSet
	base, token   string
	clients       []*http.Client // each from an address of its own
	wg            sync.WaitGroup
	cores, memory float64 // of the server in the window: cores in use, and bytes at its end

	mu       sync.Mutex // guards the fields below
	began    time.Time  // of the window; zero before
	finished bool
	delays   []time.Duration
	failure  error
}

// startLoad starts the model's server and the server: apart on a core each, the
// subscribers with the model, or wherever the kernel puts them.
func startLoad(b *testing.B, apart bool) *load {
	b.Helper()
	l := &load{B: b, model: exec.Command("load-model")}
	if err := unix.SchedGetaffinity(0, &l.all); err != nil {
		b.Fatal(err)
	}
	server, rest := l.all, l.all
	if apart {
		server, rest = cores(b, l.all)
	}
	l.pin(rest)
	in, err := l.model.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	l.idle = in
	l.server = exec.Command(build(b), "serve", "-m", "chat/m", "--base-url", l.line(l.model))
	l.server.Dir = b.TempDir()
	l.server.Env = []string{"PATH=" + os.Getenv("PATH"), "SETTLE_DATA_DIR=" + b.TempDir()}
	l.pin(server)
	link, token, _ := strings.Cut(l.line(l.server), "/#token=")
	l.pin(rest)
	l.base, l.token = link, token
	for n := range loadClients {
		from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(n+2))}}
		l.clients = append(
			l.clients, &http.Client{Transport: &http.Transport{DialContext: from.DialContext, MaxIdleConnsPerHost: 4}},
		)
	}
	return l
}

// cores returns the first core that this process may use, and the second.
func cores(b *testing.B, all unix.CPUSet) (first, second unix.CPUSet) {
	b.Helper()
	if all.Count() < 2 {
		b.Skip("this needs two cores")
	}
	for found, core := 0, 0; found < 2; core++ {
		if !all.IsSet(core) {
			continue
		}
		if found++; found == 1 {
			first.Set(core)
		} else {
			second.Set(core)
		}
	}
	return first, second
}

// pin moves this process, and its later children, to the cores.
func (l *load) pin(to unix.CPUSet) {
	l.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		l.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, &to)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			l.Fatal(err)
		}
	}
}

// line starts a command and returns the first line that it prints.
func (l *load) line(cmd *exec.Cmd) string {
	l.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		l.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (l *load) request(n int, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequest(method, l.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := l.clients[n%len(l.clients)].Do(r)
	if err == nil && res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		return nil, fmt.Errorf("%s %s: %s %s", method, path, res.Status, text)
	}
	return res, err
}

// run opens the sessions with their subscribers, lets them all stream, and reports.
// Nothing streams until all are open: on an overloaded server, each further session
// would take longer.
func (l *load) run(sessions, subscribers int) {
	l.Helper()
	paths := make([]string, sessions)
	for n := range paths {
		res, err := l.request(n, "POST", "/api/sessions", "")
		if err != nil {
			l.Fatal(err)
		}
		var session struct{ ID string }
		err = json.NewDecoder(res.Body).Decode(&session)
		_ = res.Body.Close()
		if err != nil {
			l.Fatal(err)
		}
		paths[n] = "/api/sessions/" + session.ID
		for range subscribers {
			l.wg.Go(func() { l.subscribe(n, paths[n]) }) // ends with the server
		}
	}
	var prompts sync.WaitGroup
	for first := range loadPrompts {
		prompts.Go(func() { // ends with its share of the sessions
			for n := first; n < sessions; n += loadPrompts {
				res, err := l.request(n, "POST", paths[n]+"/inputs", `{"text":"What time is it?"}`)
				if err != nil {
					l.fail(err)
					return
				}
				_ = res.Body.Close()
			}
		})
	}
	prompts.Wait()
	<-time.After(loadLead)
	before, modelBefore, ownBefore := cpu(l.server.Process.Pid), cpu(l.model.Process.Pid), cpu(os.Getpid())
	l.mu.Lock()
	l.began = time.Now()
	l.mu.Unlock()
	<-time.After(loadWindow)
	l.mu.Lock()
	l.finished = true
	took := time.Since(l.began).Seconds()
	delays := l.delays
	l.mu.Unlock()
	served := cpu(l.server.Process.Pid) - before
	l.cores, l.memory = served/took, resident(l.server.Process.Pid)
	l.ReportMetric(l.cores, "cores/server")
	l.ReportMetric((cpu(l.model.Process.Pid)-modelBefore)/took, "cores/model")
	l.ReportMetric((cpu(os.Getpid())-ownBefore)/took, "cores/subscribers")
	l.ReportMetric(l.memory/1e6, "MB/server")
	l.ReportMetric(float64(len(delays))/took, "deltas/s")
	if want := sessions * subscribers * int(time.Second/loadDelay); want > 0 {
		l.ReportMetric(100*float64(len(delays))/took/float64(want), "%arrived")
		l.ReportMetric(served/float64(max(len(delays), 1))*1e6, "µs-CPU/delta")
		slices.Sort(delays)
		for name, part := range map[string]int{"ms/p50": 500, "ms/p99": 990, "ms/p99.9": 999} {
			l.ReportMetric(float64(delays[len(delays)*part/1000].Microseconds())/1000, name)
		}
	}
	l.ReportMetric(0, "ns/op") // it has no meaning
	l.interrupt(paths)
}

// interrupt interrupts some sessions, one after the other, while the others stream.
func (l *load) interrupt(paths []string) {
	l.Helper()
	var longest time.Duration
	for n := range min(20, len(paths)) {
		began := time.Now()
		res, err := l.request(n, "POST", paths[n*len(paths)/20]+"/interrupt", "")
		if err != nil {
			l.Fatal(err)
		}
		_ = res.Body.Close()
		longest = max(longest, time.Since(began))
	}
	l.ReportMetric(float64(longest.Milliseconds()), "ms/interrupt-max")
}

// subscribe reads a session's events until the stream ends, and notes how old
// its deltas are.
func (l *load) subscribe(n int, path string) {
	res, err := l.request(n, "GET", path+"/events", "")
	if err != nil {
		l.fail(err)
		return
	}
	defer res.Body.Close()
	in := bufio.NewReaderSize(res.Body, 4<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		_, text, found := bytes.Cut(line, []byte(`"kind":"item.delta","data":{"stream":"text","text":"`))
		if !found {
			continue
		}
		now := time.Now()
		text, _, _ = bytes.Cut(text, []byte(`"`))
		l.note(now, text)
	}
}

// fail notes an error, which ends the benchmark when the load has.
func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}

// note takes the times that a delta has: one, or more where it was merged.
func (l *load) note(now time.Time, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.IsZero() || l.finished {
		return
	}
	for _, word := range bytes.Fields(text) {
		if at, err := strconv.ParseInt(string(word), 10, 64); err == nil {
			l.delays = append(l.delays, now.Sub(time.Unix(0, at)))
		}
	}
}

// stop ends everything, and reports how long that takes in mid-stream.
func (l *load) stop() {
	l.Helper()
	began := time.Now()
	if err := l.server.Process.Signal(syscall.SIGTERM); err != nil {
		l.Fatal(err)
	}
	err := l.server.Wait()
	l.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/stop")
	switch exit := (*exec.ExitError)(nil); {
	case errors.As(err, &exit) && exit.ExitCode() == 1: // said above: not all sessions ended within 8 s
		l.ReportMetric(1, "stopped-late")
	case err != nil:
		l.Error(err)
	}
	l.wg.Wait()
	if l.failure != nil {
		l.Error(l.failure)
	}
	_ = l.idle.Close()
	_ = l.model.Wait()
	l.pin(l.all)
	for _, c := range l.clients {
		c.CloseIdleConnections()
	}
}

// cpu returns the seconds of CPU that a process has used.
func cpu(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte(") "))
	fields := strings.Fields(string(after))
	const ticks = 100 // a second, as user space sees it everywhere
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// resident returns the bytes of memory that a process has.
func resident(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}
