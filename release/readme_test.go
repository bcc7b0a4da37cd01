package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// commandsOf returns the lines of a page's blocks for a shell; a line that goes on is
// one.
func commandsOf(t *testing.T, page string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(strings.ReplaceAll(block[1], "\\\n", "")), "\n")...)
	}
	return lines
}

// elsewhere are the commands that other tests run: the bare environment of .ci/run (go)
// and the terminal's own tests; and exports, which env replaces.
var elsewhere = regexp.MustCompile(`^(go |CGO_ENABLED=0 go |export |settle (setup )? *#)`)

// The commands of the README, and the script of one of a thousand runs, have the documented
// results, with a model that follows a script.
func TestCommandsOfPages(t *testing.T) {
	dir := t.TempDir()
	bin, work, out := filepath.Join(dir, "bin"), filepath.Join(dir, "work"), filepath.Join(dir, "out")
	for _, d := range []string{bin, work, out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(
		t, bin, nil, "tar", "-xzf", filepath.Join(dist(t), "settle_"+version+"_linux_amd64.tar.gz"),
		"--strip-components=1",
	)
	if _, err := git(work, "init", "-q"); err != nil {
		t.Fatal(err)
	}
	model := fakeModel(t, strings.TrimSuffix(strings.Repeat(`{"items": [{"say": "All done."}]},`, 9), ","))
	env := []string{
		"PATH=" + bin + ":" + os.Getenv(
			"PATH",
		), "HOME=" + dir, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + model, "SETTLE_MODEL=openai/gpt-5.2",
	}
	ran := 0
	sh := func(line string) string {
		ran++
		return run(t, work, env, "bash", "-euo", "pipefail", "-c", line)
	}
	for _, line := range commandsOf(t, "../README.md") {
		if elsewhere.MatchString(line) {
			continue
		}
		said := sh(strings.ReplaceAll(line, "http://localhost:8000/v1", model))
		if !strings.Contains(said, "All done.") {
			t.Errorf("%s\n%s", line, said)
		}
	}
	page, err := os.ReadFile("../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlock.FindAllStringSubmatch(string(page), 2)
	if said := sh(blocks[0][1]); !strings.Contains(said, "All done.") {
		t.Errorf("%s\n%s", blocks[0][1], said)
	}
	script := filepath.Join(dir, "run-one")
	if err := write(script, []byte(blocks[1][1]), 0o600); err != nil {
		t.Fatal(err)
	}
	sh("sh " + script + " " + work + " " + out + " 'solve it'")
	answer, err := os.ReadFile(filepath.Join(out, "answer.md"))
	code, err2 := os.ReadFile(filepath.Join(out, "exit"))
	if err != nil || err2 != nil || string(answer) != "All done." || string(code) != "0\n" {
		t.Errorf("%q, %q, %v, %v", answer, code, err, err2)
	}
	if ran != 6 {
		t.Errorf("%d commands ran", ran)
	}
}
