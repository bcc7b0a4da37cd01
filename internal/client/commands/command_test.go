package commands

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"review.md":     "---\ndescription: Review a change\nargument-hint: \"WHAT\"\n---\nReview $ARGUMENTS with care.\n",
		"plain.md":      "# Say hello\nto everybody",
		"git/commit.md": "Commit $1 as $2.",
		"Not A Name.md": "x",
		"empty.md":      "---\ndescription: nothing\n---\n",
		"other.txt":     "x",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Read(dir)
	if err == nil {
		t.Error("nothing is said of the files that cannot be used")
	}
	var got []string
	for _, c := range list {
		got = append(got, c.Name+"|"+c.Hint+"|"+c.About+"|"+c.Expand("a b c")+"|"+c.Expand(""))
	}
	want := []string{
		"git:commit|[ARGUMENTS]|Commit $1 as $2.|Commit a as b.|Commit  as .",
		"plain||Say hello|# Say hello\nto everybody\n\na b c|# Say hello\nto everybody",
		"review|WHAT|Review a change|Review a b c with care.|Review  with care.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list, err := Read(filepath.Join(dir, "none")); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
