package execserver_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/test/swap"
)

// swapCalls is the number of rounds of calls in a race.
const swapCalls = 150

// A command in the background exchanges a name for a link out of the allowed folder while requests
// work with the name. No response has anything of outside, and nothing there changes.
func TestRequestsStayInsideUnderSwaps(t *testing.T) {
	const secret = "only-outside"
	for name, names := range map[string][2]string{
		"the file":       {"a/b/f", "link-to-file"},
		"its folder":     {"a/b", "link-to-b"},
		"a folder above": {"a", "link-to-a"},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t)
			workspace, outside := t.TempDir(), t.TempDir()
			write(t, filepath.Join(workspace, "a/b/f"), "inside")
			write(t, filepath.Join(outside, "b/f"), secret)
			write(t, filepath.Join(outside, "b", secret), secret)
			for link, to := range map[string]string{"link-to-file": "b/f", "link-to-b": "b", "link-to-a": "."} {
				if err := os.Symlink(filepath.Join(outside, to), filepath.Join(workspace, link)); err != nil {
					t.Fatal(err)
				}
			}
			profile := managed(workspace, special("project_roots", "", "write"))
			profile["permissions"].(object)["file_system"].(object)["entries"] = profile["permissions"].(object)["file_system"].(object)["entries"].([]object)[1:] // nothing is readable outside
			in := func(name string) string { return fileURL(filepath.Join(workspace, name)) }
			s := swap.Start(t, filepath.Join(workspace, names[0]), filepath.Join(workspace, names[1]))
			marks := [][]byte{
				[]byte(secret),
				[]byte(base64.StdEncoding.EncodeToString([]byte(secret))),
				[]byte(outside),
				[]byte(`"size":12`),
			}
			for range swap.Calls(swapCalls) {
				for _, a := range []ask{
					{"fs/readFile", object{"path": in("a/b/f")}, nil},
					{"fs/getMetadata", object{"path": in("a/b/f")}, nil},
					{"fs/canonicalize", object{"path": in("a/b/f")}, nil},
					{"fs/readDirectory", object{"path": in("a/b")}, nil},
					{"fs/walk", object{"path": in("a"), "options": object{"maxDepth": 9, "maxDirectories": 9, "maxEntries": 9, "followDirectorySymlinks": true}}, nil},
					{"fs/copy", object{"sourcePath": in("a/b"), "destinationPath": in("copy"), "recursive": true}, nil},
					{"fs/readDirectory", object{"path": in("copy")}, nil},
					{"fs/writeFile", object{"path": in("a/b/f"), "dataBase64": []byte("inside")}, nil},
					{"fs/createDirectory", object{"path": in("a/b/made/deep")}, nil},
					{"fs/remove", object{"path": in("a/b/made")}, nil},
				} {
					a.params["sandbox"] = profile
					got := c.Try(a.method, a.params)
					for _, mark := range marks {
						if bytes.Contains(got.Result, mark) {
							t.Fatalf(
								"%s shows what is outside after %d exchanges: %s", a.method, s.Rounds(), got.Result,
							)
						}
					}
				}
			}
			s.Stop()
			if got, err := os.ReadFile(filepath.Join(outside, "b/f")); err != nil || string(got) != secret {
				t.Errorf("outside has %q, %v", got, err)
			}
			if entries, _ := os.ReadDir(filepath.Join(outside, "b")); len(entries) != 2 {
				t.Errorf("outside has %v", entries)
			}
		})
	}
}

// A client names a folder in one that commands may write to. A command exchanges it for a
// link out: the client's rule does not follow, neither for commands nor for requests.
func TestRulesDoNotFollowLinksThatCommandsMade(t *testing.T) {
	c := client(t)
	workspace, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(workspace, "sub/f"), "inside")
	write(t, filepath.Join(outside, "f"), "outside")
	rules := managed(workspace, special("project_roots", "", "write"), special("project_roots", "sub", "write"))
	run := func(id, script string) string {
		start := execservertest.Start(id, script, workspace, "none")
		start["sandbox"] = rules
		if a := c.Try("process/start", start); a.Error != nil {
			t.Fatalf("%s: %v", id, a.Error)
		}
		return c.Until(id, "the end", closed).Text
	}
	if proc.Confines() == nil {
		if got := run("swap", "mv sub moved && ln -s "+outside+" sub && echo done"); got != "done\n" {
			t.Fatalf("the exchange: %q", got)
		}
		if got := run("use", "echo x >sub/new && echo written; true"); strings.Contains(got, "written") {
			t.Errorf("a command: %q", got)
		}
	} else if err := errors.Join(os.Rename(filepath.Join(workspace, "sub"), filepath.Join(workspace, "moved")), os.Symlink(outside, filepath.Join(workspace, "sub"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/f", "sub/new"} {
		ask{
			"fs/writeFile",
			object{"path": fileURL(filepath.Join(workspace, name)), "dataBase64": []byte("x"), "sandbox": rules},
			-32600,
		}.check(t, c)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside has %v, %v", entries, err)
	}
}

// A file with other names is not written in place: one of them may be outside.
func TestWritesRefuseHardLinks(t *testing.T) {
	c := client(t)
	workspace, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "f"), "outside")
	if err := os.Link(filepath.Join(outside, "f"), filepath.Join(workspace, "f")); err != nil {
		t.Fatal(err)
	}
	rules := managed(workspace, special("project_roots", "", "write"))
	path := fileURL(filepath.Join(workspace, "f"))
	ask{"fs/writeFile", object{"path": path, "dataBase64": []byte("x"), "sandbox": rules}, -32600}.check(t, c)
	if got, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(got) != "outside" {
		t.Errorf("outside has %q, %v", got, err)
	}
	ask{"fs/remove", object{"path": path, "sandbox": rules}, object{}}.check(t, c)
	ask{"fs/writeFile", object{"path": path, "dataBase64": []byte("x"), "sandbox": rules}, object{}}.check(t, c)
}
