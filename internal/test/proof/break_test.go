//go:build breaking

package proof

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBroken breaks each clause, one after the other, in a copy that only the
// compiler sees, and wants the proof to fail. It takes minutes: `make break`.
func TestBroken(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	passed := map[string]bool{} // the tests that pass where nothing is broken
	for _, m := range mutations() {
		t.Run(m.clause+" "+m.file, func(t *testing.T) {
			if !passed[m.test] {
				if out, err := m.run(t, root); err != nil {
					t.Fatalf("the test fails where nothing is broken, so it proves nothing: %v\n%s", err, out)
				}
				passed[m.test] = true
			}
			m.try(t, root)
		})
	}
}

const breakTimeout = 10 * time.Minute

// run runs the mutation's test, with further arguments for the compiler.
func (m mutation) run(t *testing.T, root string, build ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), breakTimeout)
	defer cancel()
	args := append([]string{"test", "-timeout", "3m"}, build...)
	if where, what, ok := strings.Cut(m.test, " "); ok {
		args = append(args, "-count=1", where, "-run", what)
	} else {
		args = append(args, "./internal/test/proof", "-run", "TestSimulation$|TestSimulationOfChildren|TestFinds|TestCatalogue", "-seed=1", "-sessions=1000", "-shrink=0s")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	raw, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(raw), err
}

func (m mutation) try(t *testing.T, root string) {
	source := filepath.Join(root, m.file)
	raw, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{mutant: []byte(strings.Replace(string(raw), m.old, m.new, 1)), overlay: replace} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.run(t, root, "-overlay", overlay)
	switch {
	case err == nil:
		t.Errorf("nothing noticed")
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		t.Errorf("it does not build:\n%s", out)
	case errors.Is(err, context.DeadlineExceeded) || strings.Contains(out, "panic: test timed out"):
		t.Errorf("nothing noticed in time; a test that hangs is none that fails:\n%s", firstProblem(out))
	case !strings.Contains(out, "--- FAIL"):
		t.Errorf("no test failed:\n%s", out)
	default:
		t.Logf("noticed: %s", firstProblem(out))
	}
}

// firstProblem returns the line with the broken clause.
func firstProblem(out string) string {
	lines := strings.Split(out, "\n")
	for _, line := range lines {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "C") && strings.Contains(line, ": ") {
			return line
		}
	}
	return strings.Join(lines[:min(len(lines), 4)], " / ")
}
