package execservertest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/test/setsid"
)

// Server is an exec-server that runs as a program of its own.
type Server struct {
	URL string
	// Kill kills the server's process, as kill -9 does.
	Kill func()
}

// Matrix measures process tracking on one kind of server.
type Matrix struct {
	// Server starts a server. Servers that are not killed may be the same one.
	Server func(t testing.TB) Server
	// KillClient runs this test binary with the environment, in which [Play] is a
	// client, and kills it when it has said that its process is ready.
	KillClient func(t testing.TB, env ...string)
	// Left lists the processes that are left after an ending. It can wait for their end.
	Left func(t testing.TB, ending, mark string) (left []string)
}

// Endings returns how a process can lose its client.
func Endings() []string {
	return []string{"terminate", "disconnect", "kill -9 of the client", "kill -9 of the server"}
}

// Survivors runs each escape with each ending, and returns how many processes are
// left: by ending, then by escape.
func (m Matrix) Survivors(t testing.TB) map[string]map[string]int {
	t.Helper()
	var mu sync.Mutex
	counts := map[string]map[string]int{}
	shared := m.Server(t)
	var all sync.WaitGroup
	places := make(chan struct{}, 8) // as many at a time
	for _, ending := range Endings() {
		counts[ending] = map[string]int{}
		for _, escape := range Escapes() {
			server := shared
			if ending == "kill -9 of the server" {
				server = m.Server(t)
			}
			dir := t.(interface{ TempDir() string }).TempDir()
			mark := fmt.Sprintf("matrix-%d-%s-%s", os.Getpid(), filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
			if self, err := filepath.EvalSymlinks("/proc/self/exe"); err != nil ||
				os.Symlink(self, filepath.Join(dir, setsid.Subreaper)) != nil {
				t.Fatalf("cannot link to the test binary: %v", err)
			}
			all.Go(func() { // each wait of it is bounded
				places <- struct{}{}
				func() {
					defer func() { <-places }()
					m.end(t, ending, server, Start("p", escape.Command+Foreground, dir, mark))
				}()
				left := m.Left(t, ending, mark)
				mu.Lock()
				counts[ending][escape.Name] = len(left)
				mu.Unlock()
			})
		}
	}
	all.Wait()
	return counts
}

// end starts a process, and ends it the way that is measured.
func (m Matrix) end(t testing.TB, ending string, server Server, start map[string]any) {
	if ending == "kill -9 of the client" {
		env := start["env"].(map[string]string)
		m.KillClient(
			t, clientVariable+"="+server.URL, "DIR="+env["DIR"], MarkVariable+"_START="+env[MarkVariable],
			"TEST_COMMAND="+start["argv"].([]string)[2], "PATH="+os.Getenv("PATH"),
		)
		return
	}
	c := Dial(t, server.URL, http.Header{})
	c.Hello("")
	c.Call("process/start", start, nil)
	c.Until("p", "a word", func(d Done) bool { return strings.Contains(d.Text, "ready") })
	switch ending {
	case "terminate":
		c.Call("process/terminate", map[string]any{"processId": "p"}, nil)
	case "disconnect":
		c.Cut()
	case "kill -9 of the server":
		server.Kill()
	}
}

// clientVariable makes a test binary a client of the server at the address.
const clientVariable = "EXECSERVER_TEST_CLIENT"

// Ready is the line that a client prints when its process is ready.
const Ready = "ready"

// Play makes this process a client, if the environment says so: it starts a process,
// says so, and waits to be killed.
func Play() {
	url := os.Getenv(clientVariable)
	if url == "" {
		return
	}
	t := &player{}
	c := Dial(t, url, http.Header{})
	c.Hello("")
	c.Call(
		"process/start", Start("p", os.Getenv("TEST_COMMAND"), os.Getenv("DIR"), os.Getenv(MarkVariable+"_START")), nil,
	)
	c.Until("p", "a word", func(d Done) bool { return strings.Contains(d.Text, "ready") })
	fmt.Println(Ready)
	time.Sleep(10 * Patience)
	panic("no process killed the client")
}
