package house_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// ownLookups are the files and directories that find programs themselves, for a reason.
func ownLookups() map[string]string {
	return map[string]string{
		"internal/proc":                       "it is the lookup, and starts what it finds",
		"internal/policy/environment.go":      "it judges where a command's programs are, and starts none",
		"internal/frontend/compat/execserver": "its client names the program and its PATH, as Codex does",
		"internal/test/setsid":                "an aid of tests",
		"release":                             "it builds releases, where no session runs",
		"fleet/pgdev":                         "the servers of settle-fleet dev start before the first task",
		"fleet/temporaldev":                   "the servers of settle-fleet dev start before the first task",
		"fleet/fleettest/executortest":        "an aid of tests",
		"modeltest":                           "an aid of tests",
		"clients":                             "an aid of tests",
		"internal/sandbox":                    "it grants the folders of PATH for reading, and starts nothing",
	}
}

// TestProgramsAreFoundInOnePlace: settle finds the programs that it starts for itself with
// proc.FindProgram, which leaves out the folders of PATH that commands can change.
func TestProgramsAreFoundInOnePlace(t *testing.T) {
	for _, s := range sources(t) {
		own := false
		for place := range ownLookups() {
			own = own || s.name == place || s.dir == place || strings.HasPrefix(s.dir, place+"/")
		}
		if own || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name := called(call.Fun); slices.Contains(
				[]string{
					"exec.LookPath",
					"exec.Command",
					"exec.CommandContext",
					"filepath.SplitList",
					"syscall.Exec",
					"os.StartProcess",
				},
				name,
			) {
				t.Errorf(
					"%s:%d uses %s; proc.FindProgram finds programs, and proc.Start starts them", s.name,
					s.line(n.Pos()), name,
				)
			}
			return true
		})
	}
}
