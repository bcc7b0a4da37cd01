//go:build unix

package proof

import (
	"context"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDatabaseFaults: the database crashes and stands still, workers are cut off from
// it, hear nothing of what it has done, and die. When all of that is over, each task has
// ended once and completed, and no call ran twice.
func TestDatabaseFaults(t *testing.T) {
	c := newCrew(t)
	var gates []*gate
	c.env = func() []string {
		g, url := newDatabaseGate(t, c.place.URL)
		gates = append(gates, g)
		return []string{databaseVar + "=" + url}
	}
	all := append(
		cuts("the database", func() []*gate { return gates[len(gates)-workers:] }),
		stops(
			"the database stands still",
			func(*crew, *rand.Rand) ([]int, error) { return family(server.Process().Pid) },
		),
		fault{
			"the database crashes",
			func(ctx context.Context, _ *crew, _ *rand.Rand) error { return server.Crash(ctx) },
		},
		workerDies(),
	)
	c.prove(t, *faulty, *seed, all)
}

// socket is the name of that of a database.
const socket = ".s.PGSQL.5432"

// newDatabaseGate opens a gate to a database, and returns the URL of the way through it.
func newDatabaseGate(t *testing.T, database string) (*gate, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	g := newGate(t, "unix", filepath.Join(q.Get("host"), socket))
	q.Set("host", filepath.Dir(g.at))
	u.RawQuery = q.Encode()
	return g, u.String()
}

// family returns a process and its children.
func family(pid int) ([]int, error) {
	out, err := exec.Command("sh", "-c", `for f in /proc/[0-9]*/stat; do { read -r line <"$f" && echo "$line"; } 2>/dev/null; done`).
		Output()
	all := []int{pid}
	for line := range strings.Lines(string(out)) {
		first, rest, _ := strings.Cut(line, " (")
		at := strings.LastIndex(rest, ") ")
		if f := strings.Fields(rest[at+1:]); at > 0 && len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(first)
			if err != nil {
				return nil, err
			}
			all = append(all, child)
		}
	}
	return all, err
}
