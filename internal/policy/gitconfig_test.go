package policy

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWithoutCredentials(t *testing.T) {
	for _, tt := range []struct{ name, config, want string }{
		{
			"nothing",
			"[remote \"o\"]\n\turl = git@h:a/token.git\n[branch \"fix-token\"]\n\tmerge = refs/heads/fix-token\n",
			"[remote \"o\"]\n\turl = git@h:a/token.git\n[branch \"fix-token\"]\n\tmerge = refs/heads/fix-token\n",
		},
		{
			"user and password",
			"[remote \"o\"]\n\turl = https://u:p@h/x\n\tfetch = +a:b\n",
			"[remote \"o\"]\n\turl = https://h/x\n\tfetch = +a:b\n",
		},
		{"odd password", "[a]\n url = https://u:p@p@h/x\n", "[a]\n url = https://h/x\n"},
		{
			"user that is a token",
			"[a]\n url = https://ghp_0123456789abcdefghij@h/x\n b = https://me@h/x\n",
			"[a]\n url = https://h/x\n b = https://me@h/x\n",
		},
		{
			"section",
			"[url \"https://u:p@h/\"]\n\tinsteadOf = https://h/\n",
			"[url \"https://h/\"]\n\tinsteadOf = https://h/\n",
		},
		{
			"header",
			"[http \"https://h/\"]\n\textraheader = AUTHORIZATION: basic x\n\tproxy =\n",
			"[http \"https://h/\"]\n\t\n\tproxy =\n",
		},
		{
			"header behind a section",
			"[core]\n[http] extraHeader = X-A: x\n\tproxy = a\n",
			"[core]\n[http] \n\tproxy = a\n",
		},
		{
			"continued",
			"[a]\n url = https://u:p\\\nq@h/x\n b = c\\\n d\n",
			"[a]\n url = https://h/x\n b = c\\\n d\n",
		},
		{
			"helper",
			"[credential]\n\thelper = \"!f() { echo username=u; echo password=p; }; f\"\n",
			"[credential]\n\t\n",
		},
		{
			"helper continued",
			"[credential]\n\thelper = !f() { echo pass\\\nword=p; }; f\n[x]\n",
			"[credential]\n\t\n[x]\n",
		},
		{
			"names",
			"[github]\n\toauth-token = x\n[sendemail]\n smtpPass = x\n",
			"[github]\n\t\n[sendemail]\n \n",
		},
		{"comment", "# token: x\n; password=x\n[a]\n", "\n\n[a]\n"},
		{"no newline, CRLF", "[a]\r\n url = https://u:p@h\r\n x = 1\\", "[a]\r\n url = https://h\r\n x = 1\\"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(withoutCredentials([]byte(tt.config))); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A command that moves a configuration does not get its credentials, and a file with a secret
// name in the place of a configuration shows nothing.
func TestContentsFollowFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const config, env = "[a]\n\turl = https://u:p@h/x\n", "PASSWORD=x\nA=https://h/x\n"
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"a/.git/HEAD": "", "a/.git/config": config, "b/.git/HEAD": "", "b/.git/config": "[a]\n",
		"c/config": config, ".env": env,
		"a/.git/refs/heads/HEAD": "", "a/.git/refs/heads/.env": "x",
	} {
		write(name, text)
	}
	var files SecretFiles
	check := func(root string, want map[string]string) {
		t.Helper()
		found, err := files.Below(nil, filepath.Join(dir, root))
		got := map[string]string{}
		contents := files.Contents(found)
		for _, path := range found {
			rel, _ := filepath.Rel(dir, path)
			got[filepath.ToSlash(rel)] = string(contents[path])
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("found %q (%v), want %q", got, err, want)
		}
	}
	const shown = "[a]\n\turl = https://h/x\n"
	check("a/.git", map[string]string{"a/.git/config": shown}) // of a worktree elsewhere
	check("", map[string]string{".env": "", "a/.git/config": shown})
	if runtime.GOOS != "linux" { // files have no identity
		return
	}
	for from, to := range map[string]string{"a/.git/config": "plain", ".env": "b/.git/config"} {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	check("", map[string]string{"b/.git/config": "", "plain": shown})
}
