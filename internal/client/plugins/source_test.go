package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseSource(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plugin", "odd@name", "bare.git/objects", "bare.git/refs"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bare.git", "HEAD"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	commit := strings.Repeat("a", 40)
	for text, want := range map[string]string{
		"plugin":                              dir + "/plugin",
		"./plugin/":                           dir + "/plugin",
		"odd@name":                            dir + "/odd@name",
		"plugin@" + commit:                    "git " + dir + "/plugin " + commit,
		"bare.git":                            "git " + dir + "/bare.git ",
		"https://host/a/b":                    "git https://host/a/b ",
		"https://host/a/b@v1.0":               "git https://host/a/b v1.0",
		"ssh://git@host:22/a/b@" + commit:     "git ssh://git@host:22/a/b " + commit,
		"git@github.com:a/b.git":              "git git@github.com:a/b.git ",
		"git@github.com:a/b.git@main":         "git git@github.com:a/b.git main",
		"file://" + dir + "/plugin@" + commit: "git " + dir + "/plugin " + commit,

		"": "empty", "-x": "dash", "--upload-pack=touch x": "dash", "nothing": "no directory",
		"ext::sh -c touch% x": "not fetched", "ext::x@v1": "not fetched", "fd::1": "not fetched",
		"http://host/a": "not fetched", "git://host/a": "not fetched", "ftp://host/a": "not fetched",
		"https://me:secret@host/a": "login", "https://token@host/a": "login", "https://host/a@-x": "no commit",
		"https://host/a@a..b": "no commit", "https://host/a@": "no commit", "ssh://-oProxyCommand=x/a": "no address",
		"ssh://-l@host/a": "no address", "a/b": "no directory", "host:path": "no directory",
		"git@host::x": "not fetched", "file://other/a": "not fetched",
	} {
		got, err := ParseSource(dir, text)
		if err != nil {
			if !strings.Contains(err.Error(), want) || strings.HasPrefix(want, "git ") {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
			continue
		}
		if again, err := ParseSource("/", got.Argument()); err != nil || again != got {
			t.Errorf("%q: the argument %s is %+v: %v", text, got.Argument(), again, err)
		}
		shown := filepath.ToSlash(got.Where)
		if got.Git {
			shown = "git " + shown + " " + got.Ref
		}
		if shown != filepath.ToSlash(want) {
			t.Errorf("%q is %q, want %q", text, shown, want)
		}
	}
}

func TestCleanFolder(t *testing.T) {
	for folder, want := range map[string]string{
		"": "", ".": "", "./a/": "a", "a/b": "a/b", "../a": "!", "a/../../b": "!", "/a": "!", "a/..": "!", ".git": "!",
	} {
		got, err := CleanFolder(folder)
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%q is %q, want %q: %v", folder, got, want, err)
		}
	}
}

func TestDirectoryFilesStayInside(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".claude-plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, listPath)); err != nil {
		t.Fatal(err)
	}
	if data, err := directory(dir).File(t.Context(), listPath); err == nil {
		t.Errorf("%q", data)
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(dir, "listed")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"../x", "listed"} {
		if _, err := directory(dir).Tree(t.Context(), folder); err == nil {
			t.Errorf("%s: a folder outside is read", folder)
		}
	}
}
