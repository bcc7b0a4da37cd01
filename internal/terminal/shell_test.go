package terminal

import "testing"

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b@v1": "/a/b@v1", "": "''", "a b": "'a b'", "a'b;c": `'a'\''b;c'`, "$(x)": "'$(x)'",
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q is %s", word, got)
		}
	}
}
