package house_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// floors returns the layers of the program, from the top. A package can import packages on
// lower floors, and packages in its own room: a room is the folder named here with everything below
// it. If a name ends in "/", each folder in it is a room: no frontend imports another.
func floors() [][]string {
	return [][]string{
		{"cmd", "clients"},
		{"internal/frontend/"},
		{"internal/client"},
		{"agent"},
		{
			"internal/assemble",
			"internal/test/proof",
			"internal/test/replay",
			"internal/test/soak",
			"internal/test/escape",
			"internal/test/links",
		},
		{"internal/policy"},
		{"."}, // package settle
		{"internal/agents"},
		{"internal/session"},
		{"internal/turn"},
		{"internal/history", "internal/hooks"},
		{"internal/catalogue"},
		{"internal/journal"},
		{"internal/hostsocket"},
		{"approval"},
		{"model", "tool"},
		{"internal/executor"},
		{"internal/proc"},
		{"internal/sandbox"},
		{"internal/prompt"},
		{"internal/config", "internal/question", "internal/skills", "internal/test/longlog"},
		{"internal/oauth"},
		{"internal/repo"},
		{"internal/redact", "internal/jsonrpc", "internal/terminal", "internal/egress"},
		{"internal/disk"},
		{"internal/bound", "internal/scope"},
		{"run"},
		{"event"},
		{
			"internal/house",
			"internal/test/shake",
			"internal/test/crash",
			"internal/test/setsid",
			"internal/test/swap",
			"internal/test/pdftest",
			"modeltest",
		},
	}
}

// closed returns the rooms that can import only the named packages of this module.
func closed() map[string][]string {
	return map[string][]string{
		"event":               {},
		"modeltest":           {},
		"event/contract":      {"event"},
		"internal/test/crash": {},
		"modeltest/endings":   {},
		"modeltest/leak":      {},
	}
}

// room returns the floor of a package, 0 being the top, and its room.
func room(dir string) (floor int, name string) {
	for floor, rooms := range floors() {
		for _, name := range rooms {
			if below, ok := strings.CutPrefix(dir, name); ok && strings.HasSuffix(name, "/") {
				folder, _, _ := strings.Cut(below, "/")
				return floor, name + folder
			}
			if dir == name || name != "." && strings.HasPrefix(dir, name+"/") {
				return floor, name
			}
		}
	}
	return -1, ""
}

func TestImportsPointDownward(t *testing.T) {
	for _, s := range sources(t) {
		ours, _ := s.imports()
		floor, name := room(s.dir)
		if floor < 0 {
			t.Errorf("%s: %s is on no floor; give it one in floors()", s.name, s.dir)
			continue
		}
		if s.test {
			continue
		}
		for _, path := range ours {
			allowed, isClosed := closed()[s.dir]
			to, other := room(path)
			switch {
			case isClosed && !slices.Contains(allowed, path):
				t.Errorf("%s imports %s: %s may import of ours only %q", s.name, path, s.dir, allowed)
			case !isClosed && name != other && to <= floor:
				t.Errorf("%s imports %s: imports point downward only", s.name, path)
			}
		}
	}
}

// Users copy the code that modeltest shows, so its tests keep to the rule as well.
func TestModeltestStandsAlone(t *testing.T) {
	for _, s := range sources(t) {
		ours, _ := s.imports()
		for _, path := range ours {
			if s.dir == "modeltest" && path != "modeltest" && !strings.HasPrefix(path, "modeltest/") {
				t.Errorf("%s imports %s", s.name, path)
			}
		}
	}
}

// C7: process tracking is in one place.
func TestOnlyProcStartsProcesses(t *testing.T) {
	starts := map[string][]string{
		"os":                       {"StartProcess"},
		"syscall":                  {"ForkExec", "StartProcess", "Exec", "CreateProcess"},
		"golang.org/x/sys/unix":    {"Exec"},
		"golang.org/x/sys/windows": {"CreateProcess"},
		"github.com/creack/pty":    {"Start", "StartWithSize", "StartWithAttrs"},
	}
	for _, s := range sources(t) {
		_, name := room(s.dir)
		if s.test || name == "internal/proc" || s.dir == "internal/test/setsid" { // which becomes the command
			continue
		}
		_, others := s.imports()
		if slices.Contains(others, "os/exec") {
			t.Errorf("%s imports os/exec; only internal/proc may", s.name)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if !ok || pkg.Obj != nil {
				return true
			}
			for path, functions := range starts {
				if slices.Contains(others, path) && strings.HasSuffix("/"+path, "/"+pkg.Name) &&
					slices.Contains(functions, selector.Sel.Name) {
					t.Errorf(
						"%s:%d uses %s.%s; only internal/proc may", s.name, s.line(n.Pos()), pkg.Name,
						selector.Sel.Name,
					)
				}
			}
			return true
		})
	}
}

// mayReadEnvironment are the files that do, for a reason.
func mayReadEnvironment() map[string]string {
	return map[string]string{
		"internal/executor/shell.go":                                   "PATH, to find programs where a command would find them",
		"internal/client/clienttest/place.go":                          "PATH, for tests",
		"internal/frontend/compat/execserver/execservertest/escape.go": "PATH, for tests",
		"internal/frontend/compat/execserver/execservertest/matrix.go": "what a test has a client do",
		"agent/agent.go": "for commands, where the program does not say what they get; its documentation says so",
	}
}

// A program that embeds settle decides which variables settle sees: they are passed in as values.
func TestOnlyMainReadsTheEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		_, name := room(s.dir)
		if _, may := mayReadEnvironment()[s.name]; may || s.test ||
			slices.Contains(
				[]string{"cmd", "internal/proc", "internal/test/setsid", "internal/test/swap", "modeltest"}, name,
			) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if ok && pkg.Name == "os" &&
				slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "Setenv"}, selector.Sel.Name) {
				t.Errorf(
					"%s:%d uses os.%s; take the environment as a value", s.name, s.line(n.Pos()), selector.Sel.Name,
				)
			}
			return true
		})
	}
}
