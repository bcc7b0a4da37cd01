package quarantine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLenientReadsAsGitDoes: settle reads the same values from a configuration as git.
func TestLenientReadsAsGitDoes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Log("there is no git here")
		return
	}
	for _, text := range []string{
		"[core]\n\thooksPath = .githooks # shared\n", "[core]\nhooksPath=.githooks;x\n", "[core] hooksPath = a\n",
		"[core]\nhooksPath = \"a # b\" # c\n", "[core]\nhooksPath = a\\\n  b\n", "[core]\r\nhooksPath = a\\\r\n  b\r\n",
		"[core]\nhooksPath = a\\tb\\\\c\\\"d  \n", "[Core \"Sub \\\"x\\\\\"]\nKey = v\n", "[a.B]\nk = v\n[a]\nflag\n",
		"\ufeff[core]\nk = \"a\"b\"c\"  # x\n", "[core]\nk = a   b \t c\n# comment \\\nl = m\n", "[core]\nk =\nl = \"\"\n",
		"[include]\n\tpath = x\n[includeIf \"gitdir:~/x/\"]\n path=y\n", "[core]\nk = \"  a  \"  \n", "[x \"\"]\nk=v\n",
		"[core]k=v\n[core \t\"s\"] k = w", "[core]\nk = v\\",
	} {
		checkReading(t, git, text)
	}
}

func FuzzLenientReadsAsGitDoes(f *testing.F) {
	git, missing := exec.LookPath("git")
	f.Add("[core]\nhooksPath = .githooks # shared\n")
	f.Add("[a \"b\\\"\"]\nk = \"x\\ty\" ; z\n")
	f.Fuzz(func(t *testing.T, text string) {
		if missing == nil && !strings.Contains(text, "\x00") {
			checkReading(t, git, text)
		}
	})
}

// checkReading compares the variables of a configuration that git accepts.
func checkReading(t *testing.T, git, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(git, "config", "-z", "--list", "--no-includes", "--file", path).Output()
	if err != nil {
		return // git obeys nothing in it
	}
	var want, got []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name, value, _ := strings.Cut(entry, "\n"); entry != "" {
			want = append(want, name+"="+value)
		}
	}
	for _, v := range lenient(text) {
		got = append(got, v.String())
	}
	// Versions of git differ in blanks inside of a value; an empty subsection is none here.
	same := strings.NewReplacer("\t", " ", "\v", " ", "\f", " ", "\r", " ", "..", ".")
	if same.Replace(strings.Join(got, "\x00")) != same.Replace(strings.Join(want, "\x00")) {
		t.Errorf("%q: settle reads %q, git %q", text, got, want)
	}
}

// TestGivenReadsAsGitDoes: settle reads the same configuration from an environment as git.
func TestGivenReadsAsGitDoes(t *testing.T) {
	git, err := exec.LookPath("git")
	for _, env := range [][]string{
		{
			"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=.hooks",
			"GIT_CONFIG_KEY_1=filter.a.B\"\\.clean", "GIT_CONFIG_VALUE_1=./x \"y\" \\z\nw",
		},
		{"GIT_CONFIG_PARAMETERS='core.hooksPath'='.hooks' 'alias.x'='!it'\\''s'\\!''"},
		{"GIT_CONFIG_PARAMETERS='core.hooksPath=.hooks' 'core.bare'"},
		{"GIT_CONFIG_COUNT=x", "GIT_CONFIG_KEY_0=a.b"},
	} {
		var got []string
		for _, config := range Given(env) {
			list, _ := readConfig(config)
			for _, v := range list {
				got = append(got, v.String())
			}
		}
		if err != nil {
			continue
		}
		cmd := exec.Command(git, "config", "-z", "--list")
		cmd.Dir, cmd.Env = t.TempDir(), append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/")
		out, _ := cmd.Output()
		var want []string
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if name, value, _ := strings.Cut(entry, "\n"); entry != "" {
				want = append(want, name+"="+value)
			}
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q: settle reads %q, git %q", env, got, want)
		}
	}
	work := t.TempDir()
	if err := os.Mkdir(filepath.Join(work, ".hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=.hooks"}
	existing := Obeyed(Given(env), work, "", Places{Folders: []string{work}}).Existing
	if len(existing) != 1 {
		t.Errorf("obeyed are %q", existing)
	}
}
