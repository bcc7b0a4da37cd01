//go:build linux && machine

package rewind

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
)

// A moved file is not removed where its source cannot be restored.
func TestMovedFilesAreKeptUnlessTheirSourceIsRestored(t *testing.T) {
	big := strings.Repeat("b", 2000)
	for _, test := range []struct {
		name  string
		begin map[string]string
		calls []string
		want  []string
	}{
		{"no copy", map[string]string{"x": big}, []string{"mkdir y; mv x y/x"}, []string{
			"keep x", "keep y", "keep y/x",
		}},
		{
			"no copy, then another content",
			map[string]string{"x": big},
			[]string{"mv x y; cp y z; echo 1 >>z; rm y"},
			[]string{"keep x", "keep z"},
		},
		{"no copy, in two calls", map[string]string{"x": big}, []string{"cp x y; echo 1 >z", "rm x"}, []string{
			"keep x", "keep y", "remove z",
		}},
		{"a copy", map[string]string{"x": "1\n"}, []string{"mv x y"}, []string{"recreate x", "remove y"}},
		{"an ignored directory", map[string]string{"node_modules/x": "1\n"}, []string{
			"touch -d @1000 node_modules/x; mv node_modules away",
		}, []string{"keep away", "keep away/x"}},
		{"a copy of an old file", map[string]string{"x": "1\n"}, []string{
			"touch -d @1000 x", "cp -p x y",
		}, []string{"remove y"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := work(t, test.begin)
			b.limits = changes.Limits{Bytes: 8000}
			for _, script := range test.calls {
				b.turns([]call{bash(script)})
			}
			if diff := cmp.Diff(test.want, did(b.plan("1"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A call with more changes than a record has leaves out created files, and a rewind removes none.
func TestMovedTreeBeyondRecordIsRestored(t *testing.T) {
	b := work(t, nil)
	b.run("mkdir packages; for n in {1001..1600}; do echo $n >packages/$n; done")
	before := b.tree()
	b.turns([]call{bash("mv packages apps")})
	p := b.plan("")
	b.fork(p)
	after := b.tree()
	for name, want := range before {
		if after[name] != want {
			t.Errorf("%s: %q, want %q", name, after[name], want)
		}
	}
	for _, f := range p.Files {
		if f.Do == Remove {
			t.Errorf("%s was removed, with %v", f.Path, p.Uncovered)
		}
	}
}

// The store of earlier contents is bounded: a file whose earlier content it lost is not restored.
func TestMovedFileIsKeptAfterItsSourceWasEvicted(t *testing.T) {
	b := work(t, map[string]string{"x": "1\n"}, []call{bash("mv x y")})
	store := disk.SessionContents(settle.Store{Dir: b.data}.OutputDir(b.session))
	b.run("find " + filepath.Dir(store.BaseDir()) + " -name '" + disk.Sum([]byte("1\n")) + "*' -delete")
	if diff := cmp.Diff([]string{"keep x", "keep y"}, did(b.plan(""))); diff != "" {
		t.Error(diff)
	}
}

// On a file system that ignores case, the earlier path of a renamed file names the file itself. A
// hard link stands for such a file system.
func TestRewindKeepsFileRenamedInCase(t *testing.T) {
	b := work(t, map[string]string{"README": "1\n", "Other": "1\n"}, []call{bash("mv README readme; mv Other other")})
	b.run("ln readme README")
	b.put("Other", "1\n")
	want := []string{"keep readme", "remove other", "same Other", "same README"}
	if diff := cmp.Diff(want, did(b.plan(""))); diff != "" {
		t.Error(diff)
	}
}
