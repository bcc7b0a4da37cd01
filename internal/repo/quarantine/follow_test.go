package quarantine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Paths in files of repositories are followed as git and the kernel follow them. A path that
// git could read in another way is moved aside.
func TestGuardFollowsPathsAsGitDoes(t *testing.T) {
	home := real(t)
	cache, dir := filepath.Join(home, ".cache/settle/box/1"), filepath.Join(home, "work")
	up := strings.Repeat("../", strings.Count(dir, "/"))
	remote := func(url string) map[string]string {
		return repository("n/.git", "[remote \"origin\"]\n\turl = "+url+"\n")
	}
	pointer := func(to string) map[string]string { return map[string]string{"n/.git": "gitdir: " + to + "\n"} }
	alternates := func(text string) map[string]string {
		return merge(repository("n/.git", ""), map[string]string{"n/.git/objects/info/alternates": text})
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string // expected path that is moved aside; "" for none
	}{
		"up through a link":       {pointer("../deep/L/../../.." + cache + "/.git"), "n/.git"},
		"NUL":                     {pointer(cache + "/.git\x00/../../../../../../../../.." + dir + "/n/x"), "n/.git"},
		"straight to the cache":   {pointer(cache + "/x"), "n/.git"},
		"process":                 {pointer("/proc/self/cwd/x"), "n/.git"},
		"inside":                  {pointer("../other/.git"), ""},
		"alternates, quoted":      {alternates("\"\\057x\"\n"), "n/.git/objects/info/alternates"},
		"alternates, inside":      {alternates("../../../other/.git/objects\n"), ""},
		"remote in the cache":     {remote(cache + "/x.git"), "n/.git/config"},
		"remote with a colon":     {remote(cache + "/x:y.git"), "n/.git/config"},
		"remote from home":        {remote("~/.cache/settle/box/1/x.git"), "n/.git/config"},
		"remote of a user's home": {remote("~root/x.git"), "n/.git/config"},
		"remote up through links": {remote("../deep/L/../../.." + cache + "/x.git"), "n/.git/config"},
		"remote, relative":        {remote("../" + up[3:] + cache[1:] + "/x.git"), "n/.git/config"},
		"remote from a work tree": {remote(up + cache[1:] + "/x.git"), "n/.git/config"},
		"file URL, encoded":       {remote("file://" + home + "/%2ecache/settle/box/1/x.git"), "n/.git/config"},
		"file URL, two slashes":   {remote("file:/" + home + "/.cache/settle/box/1/x.git"), "n/.git/config"},
		"remote of home":          {remote("~/src/x.git"), ""},
		"remote beside":           {remote("../x.git"), ""},
		"remote of a host":        {remote("git@example.com:x/y.git"), ""},
		"remote by https":         {remote("https://example.com/x.git"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.RemoveAll(home)
			files(t, home, map[string]string{"work/deep/": "", ".cache/settle/box/1/x/": "", "src/": ""})
			if err := os.Symlink("../..", filepath.Join(dir, "deep/L")); err != nil {
				t.Fatal(err)
			}
			g := New()
			t.Cleanup(func() { _ = g.Close() })
			if err := g.Enter(t.Context(), Area{Look: []string{dir}, Hidden: []string{cache}, Home: home}); err != nil {
				t.Fatal(err)
			}
			files(t, dir, tt.files)
			var moved []string
			for _, f := range g.Check(t.Context()) {
				moved = append(moved, strings.TrimPrefix(f.Path, dir+"/"))
			}
			if got := strings.Join(moved, " "); got != tt.want {
				t.Errorf("moved %q, want %q", got, tt.want)
			}
		})
	}
}
