//go:build linux && machine

package policy

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// usageLine matches an option in the usage of git, with its short and its long name, and its value.
var usageLine = regexp.MustCompile(`^    (?:(-[^-\s,\[])(?:, )?)?(?:(--(?:\[no-\])?)([a-z0-9-]+))?` +
	`(\[=.*|\[<.*| [\[(<{].*)?`)

// usage returns the options that git lists for a subcommand, with their kinds.
func usage(t *testing.T, dir, name string) map[string]byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append(strings.Fields(name), "-h")...)
	c.Dir, c.Env = dir, append(os.Environ(), "LC_ALL=C")
	out, _ := c.CombinedOutput() // its exit code is 129
	kinds := map[string]byte{}
	for line := range strings.Lines(string(out)) {
		m := usageLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil || m[1] == "" && m[3] == "" {
			continue
		}
		kind := byte(takesNothing)
		switch {
		case strings.HasPrefix(m[4], "["):
			kind = mayTakeValue
		case m[4] != "":
			kind = takesValue
		}
		if m[1] != "" {
			kinds[m[1]] = kind
		}
		if m[3] != "" {
			kinds["--"+m[3]] = kind
		}
	}
	if len(kinds) == 0 && !bytes.Contains(out, []byte("usage")) {
		t.Errorf("git %s -h: %s", name, out)
	}
	return kinds
}

// The table of options agrees with the git of this machine: each option takes a value there exactly
// as in the table, and no option of the table names a program, a file or a place.
func TestGitOptionsAgreeWithGit(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dangerous := regexp.MustCompile(`^--(.*pack|exec|.*file|.*-from|template|strategy|config|repo|reference.*|` +
		`recurse-submodules|recursive|separate-git-dir|output.*|index-output|import-marks|stdin|ext-diff|textconv|` +
		`open-files-in-pager|directory|unsafe-paths|remote|tool|extcmd|bundle-uri|contents)$`)
	compared := 0
	for name, options := range gitOptionTable() {
		if len(options) == 0 {
			continue
		}
		real := usage(t, dir, name)
		for option, kind := range options {
			harmless := option == "--keep-largest-pack" || name == "revert" && option == "--reference"
			if dangerous.MatchString(option) && !harmless {
				t.Errorf("git %s: %s can name a program, a file or a place", name, option)
			}
			is, listed := real[option]
			if !listed { // hidden options, and negations
				if !accepts(t, dir, name, option, kind) {
					t.Errorf("git %s does not accept %s as in the table (%q)", name, option, kind)
				}
				continue
			}
			compared++
			if is != kind {
				t.Errorf("git %s %s has the kind %q, and %q in the table", name, option, is, kind)
			}
		}
	}
	if compared < 400 {
		t.Errorf("only %d options were compared", compared)
	}
}

// accepts reports whether git reads an option of a kind: it complains about an unknown option after
// it, unless this is its value.
func accepts(t *testing.T, dir, name, option string, kind byte) bool {
	t.Helper()
	run := func(words ...string) string {
		c := exec.CommandContext(t.Context(), "git", append(strings.Fields(name), words...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "LC_ALL=C")
		out, _ := c.CombinedOutput()
		return string(out)
	}
	out := run(option, "--settle-unknown")
	unknown := strings.Contains(out, "settle-unknown") || out == run("--settle-unknown") // some print their usage only
	return unknown == (kind != takesValue)
}

// The parser of options agrees with git on which word is a value: git commit, with each combination of
// words, has the message that the parser expects.
func TestGitOptionParserAgreesWithGit(t *testing.T) {
	dir := t.TempDir()
	git := func(words ...string) (string, error) {
		user := []string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@y"}
		c := exec.CommandContext(t.Context(), "git", append(user, words...)...)
		c.Env = append(os.Environ(), "LC_ALL=C", "GIT_EDITOR=false")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := git("init", "-q"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	words := []string{"-m", "-mq", "-qm", "--message", "-F", "-sF", "x", "--trailer", "-ux", "-u"}
	file := dir + "/x"
	if err := os.WriteFile(file, []byte("content of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, a := range words {
		for _, b := range words {
			for _, c := range []string{"x", "-m", "-F", "--no-verify"} {
				list := []string{a, b, c}
				out, err := git(slices.Concat([]string{"commit", "--allow-empty"}, list)...)
				if err != nil {
					continue
				}
				message, _ := git("log", "-1", "--format=%B")
				if !strings.Contains(message, "content of the file") {
					continue
				}
				read++
				parsed := parseGit(gitOptionTable()["commit"], list)
				if len(parsed.unknown) == 0 {
					t.Errorf("git commit %q reads a file: %+v\n%s", list, parsed, out)
				}
			}
		}
	}
	if read < 3 {
		t.Errorf("only %d commands read the file", read)
	}
}

// The remotes of a clone that git made and configured are known.
func TestRemotesOfCloneAreKnown(t *testing.T) {
	dir := t.TempDir()
	clone := dir + "/clone"
	for _, words := range []string{
		"init -q -b main from", "-C from -c user.name=x -c user.email=x@y commit -q --allow-empty -m x",
		"clone -q from clone", "-C clone remote set-url origin https://example.com/x.git",
		"-C clone remote add up git@example.com:a/b.git", "-C clone config pull.rebase true",
		"-C clone config push.autoSetupRemote true", "-C clone config user.name A;B", "-C clone switch -q -c y",
		"-C clone config branch.y.remote up", "-C clone sparse-checkout init", "-C clone remote set-head origin main",
	} {
		c := exec.CommandContext(t.Context(), "git", strings.Fields(words)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", words, err, out)
		}
	}
	remotes, ok := readRemotes(clone)
	if !ok || !slices.Equal(remotes["origin"], []string{"https://example.com/x.git"}) ||
		!slices.Equal(remotes["up"], []string{"git@example.com:a/b.git"}) || len(remotes) != 2 {
		t.Errorf("%q, known: %t", remotes, ok)
	}
}
