package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// settle is the binary that is killed.
type settle struct{ path string }

// build builds it for all tests of the package; TestMain removes it.
var build = sync.OnceValues(func() (settle, error) {
	dir, err := os.MkdirTemp("", "settle-crash-")
	if err != nil {
		return settle{}, err
	}
	path := filepath.Join(dir, "settle")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/settle-agent/settle/cmd/settle")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return settle{path}, fmt.Errorf("cannot build settle: %w\n%s", err, out)
	}
	return settle{path}, nil
})

// isBuilt reports whether a test has built it.
var isBuilt bool

func built(t *testing.T) settle {
	t.Helper()
	isBuilt = true
	s, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// removeBuilt removes the binaries that the tests have built.
func removeBuilt() {
	if isBuilt {
		s, _ := build() // the tests have reported its error
		_ = os.RemoveAll(filepath.Dir(s.path))
	}
}

// running are the processes of the binary, supervisors as well.
func (s settle) running() (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && target == s.path {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// ended checks that no process of the binary is left.
func (s settle) ended(t *testing.T) {
	t.Helper()
	if left := s.running(); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// victim makes a session that is killed, with a home, a working directory and a model of
// its own. The function end removes them.
func (s settle) victim(t *testing.T, n int, r *rand.Rand, model modeltest.Scenario) (
	v *victim, end func() error, err error,
) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		return nil, nil, err
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return nil, nil, err
	}
	server := modeltest.NewServer(nil, model)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	v = &victim{
		settle: s, ctx: ctx, dir: dir, work: work, name: fmt.Sprintf("%d-%d", os.Getpid(), n), session: "s",
		server: server,
	}
	v.model = [][]string{
		{"-m", "chat/m", "--base-url", server.OpenAI()},
		{"-m", "openai/gpt-5", "--base-url", server.OpenAI()},
		{"-m", "anthropic/claude-opus-5-5", "--base-url", server.Anthropic()},
	}[r.IntN(3)]
	return v, func() error {
		defer cancel()
		return errors.Join(server.Close(), os.RemoveAll(dir))
	}, nil
}

// says runs the binary, and returns its standard output.
func (v *victim) says(args ...string) (string, error) {
	cmd := v.command(args...)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("settle %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.String(), nil
}

// rounds runs the rounds side by side, as many as CRASHES says, else total. SEED repeats
// them.
func rounds(t *testing.T, total int, round func(n int, r *rand.Rand) error) {
	t.Helper()
	if text := os.Getenv("CRASHES"); text != "" {
		var err error
		if total, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("SEED=%d", seed)
	next := make(chan int, total)
	for n := range total {
		next <- n
	}
	close(next)
	var wg sync.WaitGroup
	for range side {
		wg.Go(func() { // ends with the last round
			for n := range next {
				if err := round(n, rand.New(rand.NewPCG(seed, uint64(n)))); err != nil {
					t.Errorf("round %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}
