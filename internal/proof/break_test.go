//go:build breaking

package proof

import (
	"context"
	"encoding/json"
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
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations() {
		t.Run(m.clause+" "+m.file, func(t *testing.T) { m.try(t, root) })
	}
}

const breakTimeout = 10 * time.Minute

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
	ctx, cancel := context.WithTimeout(t.Context(), breakTimeout)
	defer cancel()
	where, what, ok := strings.Cut(m.test, " ")
	args := []string{"test", "-overlay", overlay, "-timeout", "90s", where, "-run", what}
	if !ok {
		args = []string{"test", "-overlay", overlay, "-timeout", "90s", "./internal/proof", "-run", "TestSimulation|TestFinds|TestCatalogue", "-seed=1", "-sessions=1000", "-shrink=0s"}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("nothing noticed")
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		t.Errorf("it does not build:\n%s", out)
	default:
		t.Logf("noticed: %s", firstProblem(string(out)))
	}
}

// firstProblem returns the line that says which clause was broken.
func firstProblem(out string) string {
	lines := strings.Split(out, "\n")
	for _, line := range lines {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "C") && strings.Contains(line, ": ") {
			return line
		}
	}
	return strings.Join(lines[:min(len(lines), 4)], " / ")
}
