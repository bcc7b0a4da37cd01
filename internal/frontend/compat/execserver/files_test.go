//go:build unix

package execserver_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
)

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask is a request with its expected response: a result, or the code of an error.
type ask struct {
	method string
	params object
	want   any
}

func (a ask) check(t *testing.T, c *execservertest.Client) {
	t.Helper()
	got := c.Try(a.method, a.params)
	if code, ok := a.want.(int); ok {
		if got.Error == nil || got.Error.Code != code {
			t.Errorf("%s %v: %s, %+v; want error %d", a.method, a.params, got.Result, got.Error, code)
		}
		return
	}
	if got.Error != nil {
		t.Errorf("%s %v: %d %s", a.method, a.params, got.Error.Code, got.Error.Message)
		return
	}
	want, err := json.Marshal(a.want)
	if err != nil {
		t.Fatal(err)
	}
	var x, y any
	if err := json.Unmarshal(want, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Result, &y); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x, y); diff != "" {
		t.Errorf("%s %v (-want +got):\n%s", a.method, a.params, diff)
	}
}

func TestFiles(t *testing.T) {
	c := client(t)
	dir := t.TempDir()
	at := func(name string) string { return fileURL(filepath.Join(dir, name)) }
	write(t, filepath.Join(dir, "a b%c"), "text")
	write(t, filepath.Join(dir, "tree/sub/file"), "deep")
	if err := os.Symlink("tree", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := object{}
	for _, a := range []ask{
		{"fs/readFile", object{"path": at("a b%c")}, object{"dataBase64": []byte("text")}},
		{"fs/readFile", object{"path": at("nothing")}, -32004},
		{"fs/readFile", object{"path": at("tree")}, -32600},
		{"fs/readFile", object{"path": at("pipe")}, -32600},
		{"fs/readFile", object{"path": "file:///dev/zero"}, -32600},
		{"fs/readFile", object{"path": dir}, -32602},
		{"fs/readFile", object{"path": "http://x/y"}, -32602},
		{"fs/readFile", object{"path": "file://host/x"}, -32602},
		{"fs/readFile", none, -32602},
		{"fs/writeFile", object{"path": at("new"), "dataBase64": []byte("one two")}, none},
		{"fs/writeFile", object{"path": at("new"), "dataBase64": []byte("three")}, none},
		{"fs/readFile", object{"path": at("new")}, object{"dataBase64": []byte("three")}},
		{"fs/writeFile", object{"path": at("no/folder"), "dataBase64": []byte("x")}, -32004},
		{"fs/writeFile", object{"path": at("pipe"), "dataBase64": []byte("x")}, -32600},
		{"fs/writeFile", object{"path": at("new"), "dataBase64": "!!"}, -32602},
		{"fs/writeFile", object{"path": at("new")}, -32602},
		{"fs/createDirectory", object{"path": at("x/y/z")}, none},
		{"fs/createDirectory", object{"path": at("x/y/z"), "recursive": true}, none},
		{"fs/createDirectory", object{"path": at("x/y/z"), "recursive": false}, -32603},
		{"fs/createDirectory", object{"path": at("q/r"), "recursive": false}, -32004},
		{"fs/createDirectory", object{"path": at("new"), "recursive": true}, -32603},
		{"fs/canonicalize", object{"path": at("link/sub/../sub")}, object{"path": at("tree/sub")}},
		{"fs/canonicalize", object{"path": at("nothing")}, -32004},
		{"fs/readDirectory", object{"path": at("link")}, object{"entries": []object{{"fileName": "sub", "isDirectory": true, "isFile": false}}}},
		{"fs/readDirectory", object{"path": at("new")}, -32600},
		{"fs/walk", object{"path": at("tree"), "options": object{"maxDepth": 9, "maxDirectories": 9, "maxEntries": 9, "followDirectorySymlinks": false}}, object{
			"entries": []object{{"path": at("tree/sub"), "kind": "directory"}, {"path": at("tree/sub/file"), "kind": "file"}}, "errors": []object{}, "truncated": false,
		}},
		{"fs/walk", object{"path": at("tree"), "options": object{"maxDepth": 9, "maxDirectories": 9, "maxEntries": 1, "followDirectorySymlinks": false}}, object{
			"entries": []object{{"path": at("tree/sub"), "kind": "directory"}}, "errors": []object{}, "truncated": true,
		}},
		{"fs/walk", object{"path": at("tree")}, -32602},
		{"fs/copy", object{"sourcePath": at("new"), "destinationPath": at("copy"), "recursive": false}, none},
		{"fs/readFile", object{"path": at("copy")}, object{"dataBase64": []byte("three")}},
		{"fs/copy", object{"sourcePath": at("new"), "destinationPath": at("new"), "recursive": false}, none},
		{"fs/readFile", object{"path": at("new")}, object{"dataBase64": []byte("three")}},
		{"fs/copy", object{"sourcePath": at("tree"), "destinationPath": at("tree2"), "recursive": false}, -32600},
		{"fs/copy", object{"sourcePath": at("tree"), "destinationPath": at("tree/in"), "recursive": true}, -32600},
		{"fs/copy", object{"sourcePath": at("tree"), "destinationPath": at("tree2"), "recursive": true}, none},
		{"fs/readFile", object{"path": at("tree2/sub/file")}, object{"dataBase64": []byte("deep")}},
		{"fs/copy", object{"sourcePath": at("pipe"), "destinationPath": at("p2"), "recursive": false}, -32600},
		{"fs/remove", object{"path": at("tree2"), "recursive": false}, -32603},
		{"fs/remove", object{"path": at("tree2")}, none},
		{"fs/remove", object{"path": at("tree2")}, none},
		{"fs/remove", object{"path": at("tree2"), "force": false}, -32004},
		{"fs/remove", object{"path": at("link")}, none},
		{"fs/readFile", object{"path": at("tree/sub/file")}, object{"dataBase64": []byte("deep")}},
		{"fs/open", object{"handleId": "h", "path": at("new")}, object{"handleId": "h"}},
		{"fs/open", object{"handleId": "h", "path": at("new")}, -32600},
		{"fs/open", object{"handleId": strings.Repeat("h", 33), "path": at("new")}, -32600},
		{"fs/readBlock", object{"handleId": "h", "offset": 1, "len": 2}, object{"chunk": []byte("hr"), "eof": false}},
		{"fs/readBlock", object{"handleId": "h", "offset": 3, "len": 9}, object{"chunk": []byte("ee"), "eof": true}},
		{"fs/readBlock", object{"handleId": "h", "offset": 99, "len": 9}, object{"chunk": []byte(""), "eof": true}},
		{"fs/readBlock", object{"handleId": "h", "offset": -1, "len": 9}, -32602},
		{"fs/readBlock", object{"handleId": "h", "offset": 0, "len": 1 << 40}, -32602},
		{"fs/close", object{"handleId": "h"}, none},
		{"fs/close", object{"handleId": "h"}, none},
		{"fs/readBlock", object{"handleId": "h", "offset": 0, "len": 9}, -32004},
	} {
		a.check(t, c)
	}
	var m struct {
		IsDirectory, IsFile, IsSymlink bool
		Size, ModifiedAtMs             int64
	}
	c.Call("fs/getMetadata", object{"path": at("new")}, &m)
	if m.IsDirectory || !m.IsFile || m.IsSymlink || m.Size != 5 || m.ModifiedAtMs == 0 {
		t.Errorf("%+v", m)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "tree/sub")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// managed is the sandbox that Codex sends for workspace-write, or read-only.
func managed(workspace string, entries ...object) object {
	all := append(
		[]object{{"path": object{"type": "special", "value": object{"kind": "root"}}, "access": "read"}},
		entries...)
	return object{
		"permissions": object{
			"type":        "managed",
			"file_system": object{"type": "restricted", "entries": all},
			"network":     "restricted",
		},
		"cwd": fileURL(workspace), "workspaceRoots": []string{fileURL(workspace)}, "useLegacyLandlock": false,
	}
}

func special(kind, subpath, access string) object {
	value := object{"kind": kind}
	if subpath != "" {
		value["subpath"] = subpath
	}
	return object{"path": object{"type": "special", "value": value}, "access": access, "missing_path_behavior": "skip"}
}

// C22: a request never touches a path that its sandbox forbids: not by a link, not as part of
// another path. If that cannot be enforced, nothing is done.
func TestFilesOfASandbox(t *testing.T) {
	c := client(t)
	workspace, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "file"), "outside")
	write(t, filepath.Join(workspace, "file"), "inside")
	write(t, filepath.Join(workspace, ".git/config"), "git")
	write(t, filepath.Join(workspace, "private/key"), "secret")
	for name, to := range map[string]string{"out": outside, "git": ".git", "toFile": filepath.Join(outside, "file"), "key": "private/key", "dangling": filepath.Join(outside, "new")} {
		if err := os.Symlink(to, filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(workspace, filepath.Join(outside, "back")); err != nil {
		t.Fatal(err)
	}
	profile := managed(
		workspace,
		special("project_roots", "", "write"),
		special("project_roots", ".git", "read"),
		special("project_roots", "private", "none"),
	)
	in := func(name string) string { return fileURL(filepath.Join(workspace, name)) }
	out := func(name string) string { return fileURL(filepath.Join(outside, name)) }
	none, data := object{}, []byte("x")
	asks := []ask{
		{"fs/writeFile", object{"path": in("file"), "dataBase64": data}, none},
		{"fs/writeFile", object{"path": in("new"), "dataBase64": data}, none},
		{"fs/writeFile", object{"path": out("back/new"), "dataBase64": data}, none},
		{"fs/readFile", object{"path": in("toFile")}, object{"dataBase64": []byte("outside")}},
		{"fs/readFile", object{"path": in(".git/config")}, object{"dataBase64": []byte("git")}},
		{"fs/readFile", object{"path": in("private/key")}, -32600},
		{"fs/readFile", object{"path": in("key")}, -32600},
		{"fs/open", object{"handleId": "h", "path": in("key")}, -32600},
		{"fs/getMetadata", object{"path": in("key")}, -32600},
		{"fs/canonicalize", object{"path": in("key")}, -32600},
		{"fs/readDirectory", object{"path": in("private")}, -32600},
		{"fs/writeFile", object{"path": out("file"), "dataBase64": data}, -32600},
		{"fs/writeFile", object{"path": in("out/file"), "dataBase64": data}, -32600},
		{"fs/writeFile", object{"path": in("toFile"), "dataBase64": data}, -32600},
		{"fs/writeFile", object{"path": in("dangling"), "dataBase64": data}, -32600},
		{"fs/writeFile", object{"path": in("../" + filepath.Base(outside) + "/file"), "dataBase64": data}, -32600},
		{"fs/writeFile", object{"path": in(".git/config"), "dataBase64": data}, -32600},
		{"fs/writeFile", object{"path": in("git/hooks"), "dataBase64": data}, -32600},
		{"fs/createDirectory", object{"path": in("a/b/c")}, none},
		{"fs/createDirectory", object{"path": in("out/b/c")}, -32600},
		{"fs/createDirectory", object{"path": in("git/hooks")}, -32600},
		{"fs/remove", object{"path": in("a")}, none},
		{"fs/remove", object{"path": in(".git")}, -32600},
		{"fs/remove", object{"path": in(".git/config")}, -32600},
		{"fs/remove", object{"path": fileURL(workspace)}, -32600},
		{"fs/remove", object{"path": out("file")}, -32600},
		{"fs/remove", object{"path": in("out")}, none}, // the link itself
		{"fs/copy", object{"sourcePath": in("file"), "destinationPath": in("copy"), "recursive": false}, none},
		{"fs/copy", object{"sourcePath": in("file"), "destinationPath": out("copy"), "recursive": false}, -32600},
		{"fs/copy", object{"sourcePath": in("file"), "destinationPath": in(".git/config"), "recursive": false}, -32600},
		{"fs/copy", object{"sourcePath": in("private"), "destinationPath": in("public"), "recursive": true}, -32600},
		{
			"fs/copy",
			object{"sourcePath": fileURL(workspace), "destinationPath": out("back2"), "recursive": true},
			-32600,
		},
	}
	for _, a := range asks {
		a.params["sandbox"] = profile
		if runtime.GOOS != "linux" {
			a.want = -32600
		}
		a.check(t, c)
	}
	for _, odd := range []object{
		managed(workspace, special("minimal", "", "read")), managed(workspace, special("project_roots", "../x", "read")), managed(workspace, special("project_roots", "", "append")),
		managed(workspace, object{"path": object{"type": "glob_pattern", "pattern": "**/*.key"}, "access": "none"}),
		{"permissions": object{"type": "new"}},
		{},
	} {
		ask{"fs/writeFile", object{"path": in("file"), "dataBase64": data, "sandbox": odd}, -32600}.check(t, c)
	}
	for path, want := range map[string]string{filepath.Join(outside, "file"): "outside", filepath.Join(workspace, ".git/config"): "git"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(outside, "new")); err == nil {
		t.Error("a link to nothing was followed")
	}
}

// A swapped link changes nothing outside, however often it is tried.
func TestLinkThatIsPutThereMeanwhile(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // rights to files are refused there
	}
	c := client(t)
	workspace, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "file"), "outside")
	write(t, filepath.Join(workspace, "real/file"), "inside")
	profile := managed(workspace, special("project_roots", "", "write"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // ends with the test
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(filepath.Join(workspace, "real"), filepath.Join(workspace, "moved"))
			_ = os.Symlink(outside, filepath.Join(workspace, "real"))
			_ = os.Remove(filepath.Join(workspace, "real"))
			_ = os.Rename(filepath.Join(workspace, "moved"), filepath.Join(workspace, "real"))
		}
	}()
	for range 200 {
		c.Try(
			"fs/writeFile",
			object{
				"path": fileURL(filepath.Join(workspace, "real/file")), "dataBase64": []byte("x"), "sandbox": profile,
			},
		)
		c.Try("fs/remove", object{"path": fileURL(filepath.Join(workspace, "real/file")), "sandbox": profile})
	}
	close(stop)
	<-stopped
	if got, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(got) != "outside" {
		t.Errorf("outside has %q, %v", got, err)
	}
}
