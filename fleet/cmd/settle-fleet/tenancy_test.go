package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
)

// TestAdmit: a worker refuses each task that it cannot keep apart from those of other
// tenants, and says why.
func TestAdmit(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a", "b/deep"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "a"), filepath.Join(root, "b", "link")); err != nil {
		t.Fatal(err)
	}
	one, remote := tenancy{}, tenancy{isolation: isolationExecutor}
	sandboxed := tenancy{isolation: isolationSandbox, dirs: root}
	for _, c := range []struct {
		name string
		by   tenancy
		task fleet.Task
		says string // "" admits it
	}{
		{"the default tenant", one, fleet.Task{Tenant: "default", Dir: "/anywhere"}, ""},
		{"another tenant", one, fleet.Task{Tenant: "a", Dir: "/anywhere"}, `runs only tasks of "default"`},
		{"the named tenant", tenancy{tenant: "a"}, fleet.Task{Tenant: "a"}, ""},
		{"not the named tenant", tenancy{tenant: "a"}, fleet.Task{Tenant: "default"}, "--tenant default"},
		{"dev", tenancy{singleUser: true}, fleet.Task{Tenant: "a", Dir: "/anywhere"}, ""},
		{"its own directory", sandboxed, fleet.Task{Tenant: "b", Dir: root + "/b"}, ""},
		{"one below", sandboxed, fleet.Task{Tenant: "b", Dir: root + "/b/deep"}, ""},
		{"another's directory", sandboxed, fleet.Task{Tenant: "b", Dir: root + "/a"}, "is not in"},
		{"all directories", sandboxed, fleet.Task{Tenant: "b", Dir: root}, "is not in"},
		{"a way around", sandboxed, fleet.Task{Tenant: "b", Dir: root + "/b/../a"}, "is not in"},
		{"a link to another's", sandboxed, fleet.Task{Tenant: "b", Dir: root + "/b/link"}, "is not in"},
		{"a missing directory", sandboxed, fleet.Task{Tenant: "b", Dir: root + "/b/none"}, "no such file"},
		{"a name that leads up", sandboxed, fleet.Task{Tenant: "..", Dir: root}, "not the name of a directory"},
		{"a name with a slash", sandboxed, fleet.Task{Tenant: "b/../a", Dir: root + "/a"}, "not the name of a directory"},
		{"none", tenancy{isolation: isolationSandbox}, fleet.Task{Tenant: "b", Dir: root + "/b"}, "--tenant-dirs"},
		{"a repository", sandboxed, fleet.Task{Tenant: "b", Repo: "https://example.org/x.git"}, ""},
		{"a repository by ssh", sandboxed, fleet.Task{Tenant: "b", Repo: "git@example.org:x.git"}, ""},
		{"a local repository", sandboxed, fleet.Task{Tenant: "b", Repo: root + "/a"}, "is not on a server"},
		{"a local URL", sandboxed, fleet.Task{Tenant: "b", Repo: "file://" + root + "/a"}, "is not on a server"},
		{"a local host", sandboxed, fleet.Task{Tenant: "b", Repo: "file://localhost" + root}, "is not on a server"},
		{"a path with a colon", sandboxed, fleet.Task{Tenant: "b", Repo: root + "/a:b"}, "is not on a server"},
		{"another transport", sandboxed, fleet.Task{Tenant: "b", Repo: "ext::sh -c x"}, "is not on a server"},
		{"an executor of its own", sandboxed, fleet.Task{Tenant: "b", Executor: "sh"}, "names an executor"},
		{"an executor of its own in a container", remote, fleet.Task{Tenant: "b", Executor: "sh"}, "names an executor"},
		{"the worker's executor", remote, fleet.Task{Tenant: "b", Dir: "/work"}, ""},
	} {
		if err := c.by.admit(
			c.task,
		); (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestTenancyFlags: flags that contradict each other are refused before the worker connects.
func TestTenancyFlags(t *testing.T) {
	home(t)
	repository := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(repository, "tenants")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for args, says := range map[string]string{
		"--isolation maybe":                               "there is no isolation",
		"--isolation executor":                            "needs --executor",
		"--isolation sandbox --tenant a":                  "--tenant names the only tenant",
		"--tenant-dirs " + inside:                         "is for --isolation sandbox",
		"--isolation sandbox --tenant-dirs /nowhere/x":    "cannot use --tenant-dirs",
		"--isolation sandbox --tenant-dirs " + inside:     "in the git repository",
		"--isolation sandbox --tenant-dirs " + repository: "in the git repository",
	} {
		if code, _, stderr := command(
			t,
			"",
			append([]string{"worker"}, strings.Fields(args)...)...); code != codeUsage ||
			!strings.Contains(stderr, says) {
			t.Errorf("%s: %d, %s", args, code, stderr)
		}
	}
}
