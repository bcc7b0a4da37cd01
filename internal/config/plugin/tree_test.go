package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderWithLinkIsRefused(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"real/a": "a", "real/sub/b": "b"})
	secret := files(t, t.TempDir(), map[string]string{"id": "secret", "sub/b": "b"})
	for name, target := range map[string]string{"outside": secret, "inside": "real"} {
		if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"outside", "outside/sub", "inside", "inside/sub"} {
		tree, err := ReadFolder(source, folder, all)
		if err == nil || !strings.Contains(err.Error(), "is or goes through a link") || len(tree.Files) > 0 {
			t.Errorf("%s: %v, %d files", folder, err, len(tree.Files))
		}
		p := Plugin{Record: Record{Source: source, Path: folder}}
		if p.Drift = p.drift(Tree{}); !strings.Contains(p.Drifted(), "is or goes through a link") {
			t.Errorf("%s: %q", folder, p.Drifted())
		}
	}
	linked := filepath.Join(t.TempDir(), "source") // the user names a source by a link
	if err := os.Symlink(source, linked); err != nil {
		t.Fatal(err)
	}
	if tree, err := ReadFolder(linked, "real/sub", all); err != nil || len(tree.Files) != 1 {
		t.Errorf("%v, %+v", err, tree)
	}
	p := Plugin{Record: Record{Source: source, Path: "none"}}
	if p.Drift = p.drift(Tree{}); p.Drifted() != "removed: the directory" {
		t.Errorf("%q", p.Drifted())
	}
}
