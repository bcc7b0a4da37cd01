//go:build machine

package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
)

// While a job of a sandboxed command runs, the user tells git where its hooks and a filter are.
// The next command plants nothing there.
func TestPlacesThatUserNamesWhileJobRuns(t *testing.T) {
	if !confines(t) {
		return
	}
	u := newUser(t)
	a := make1(t, resolve(t, "/", nil, nil, ""), func(o *Options) {
		o.Dir, o.Environ, o.Getenv = u.work, u.env, func(name string) string { return variable(u.env, name) }
		o.Permission, o.Sandbox = settle.Ask, "required"
		o.Model = scripted(commands(
			"sleep 30 & echo started",
			`mkdir .hooks; cp "$EVIL" .hooks/pre-commit; cp "$EVIL" z.sh; `+
				`echo '*.f filter=z' >.gitattributes; echo planted`,
			"echo x >y.f; echo end",
		))
		o.Reviewed = func(call settle.Approval, j settle.Judgement) settle.Judgement {
			if strings.Contains(call.Arguments, "planted") {
				u.git(t, u.work, "git config core.hooksPath .hooks; git config filter.z.clean ./z.sh")
			}
			return j
		}
	})
	calls := outputs(t, a)
	if got := calls[1].Content().Output; !strings.Contains(got, ".hooks is now .hooks-quarantined-1") ||
		!strings.Contains(got, "z.sh is now z.sh-quarantined-1") {
		t.Errorf("the command: %q", got)
	}
	for _, name := range []string{".hooks", "z.sh"} {
		if _, err := os.Lstat(filepath.Join(u.work, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if ran := u.everyday(t); ran != "" {
		t.Errorf("git ran %s", ran)
	}
}
