//go:build machine

package page_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// browserTimeout ends hanging programs; the tests themselves wait for events.
const browserTimeout = 10 * time.Minute

// node runs a script of the package and returns its output.
func node(t *testing.T, in io.Reader, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the page's tests need node, 20 or later (Debian: apt-get install nodejs npm): %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %s: %v\n%s%s", strings.Join(args, " "), err, tail(out.String()), errs.String())
	}
	return out.Bytes()
}

// tail returns the end of a failing test run's output.
func tail(s string) string {
	if most := 16 << 10; len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// scripts returns the test files of a folder.
func scripts(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", folder, err)
	}
	return files
}

func TestScripts(t *testing.T) {
	t.Parallel()
	node(t, nil, append([]string{"--test"}, scripts(t, "unit")...)...)
}

// The page in Chromium: against films, and against the binary with a model that
// follows a script.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	chromium := os.Getenv("SETTLE_CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	if _, err := os.Stat(chromium); err != nil {
		t.Fatalf(
			"the page's tests need Chromium (Debian: apt-get install chromium; SETTLE_CHROMIUM names one that is elsewhere): %v",
			err,
		)
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	defer cancel()
	install(ctx, t)
	cmd := exec.CommandContext(ctx, "node", append([]string{"--test", "--test-concurrency=2"}, scripts(t, "e2e")...)...)
	cmd.Env = append(os.Environ(), "SETTLE_BIN="+build(ctx, t), "SETTLE_LOGS="+drawnLogs(t))
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "# Subtest") {
			t.Log(strings.TrimSpace(line)) // measurements
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(string(out)))
	}
}

// install fetches the packages of package-lock.json, if they are not there.
func install(ctx context.Context, t *testing.T) {
	t.Helper()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join("node_modules", ".settle-lock")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, lock) {
		return
	}
	out, err := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts").CombinedOutput()
	if err != nil {
		t.Fatalf("the page's tests need playwright-core from npm: npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile(stamp, lock, 0o600); err != nil {
		t.Fatal(err)
	}
}

// build returns the path of a binary of this tree.
func build(ctx context.Context, t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "settle")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", name, "github.com/settle-agent/settle/cmd/settle").
		CombinedOutput()
	if err != nil {
		t.Fatalf("cannot build settle: %v\n%s", err, out)
	}
	return name
}
