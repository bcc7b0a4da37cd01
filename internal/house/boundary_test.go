package house_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// bounded returns the rooms whose goroutines run code of tools, servers, hooks, providers,
// observers and frontends, or read their data.
func bounded() []string {
	return []string{
		".", "agent", "internal/assemble", "internal/client", "internal/frontend", "internal/hooks", "internal/hostsocket",
		"internal/journal", "internal/jsonrpc", "internal/client/telemetry", "internal/session", "internal/turn", "model", "tool",
	}
}

// unbounded are the goroutines without a boundary, by file and function, for a reason.
func unbounded() map[string]string {
	const (
		oneProcess = "the process has one client and one turn: a defect ends both, and the next host recovers the log"
		own        = "runs only code of settle on data of settle"
	)
	return map[string]string{
		"internal/client/attach/session.go Events":              own + ": a cancel function",
		"internal/client/guard/serve.go Serve":                  "net/http stops the panics of handlers, each at its connection",
		"internal/client/oneturn/prompt.go readInput":           oneProcess,
		"internal/client/oneturn/stopper.go pass":               oneProcess,
		"internal/client/oneturn/turn.go Run":                   oneProcess,
		"internal/client/oneturn/turn.go run":                   oneProcess,
		"internal/client/stdio/shutdown.go Run":                 oneProcess,
		"internal/client/stdio/shutdown.go Await":               oneProcess,
		"internal/client/stdio/shutdown.go Hurry":               oneProcess,
		"internal/client/stdio/output.go NewOutput":             own + ": writes bytes to standard output",
		"internal/client/stdio/output.go Drain":                 own + ": waits for standard output",
		"internal/frontend/demo/demo.go play":                   oneProcess,
		"internal/frontend/compat/execserver/stdio.go newPipes": own + ": reads lines of standard input",
		"internal/frontend/run/questions.go begin":              oneProcess,
		"internal/frontend/run/json_view.go Follow":             oneProcess,
		"internal/frontend/run/options.go Turn":                 oneProcess,
		"internal/frontend/sessions/compact.go Run":             oneProcess,
		"internal/frontend/tui/fetch.go giveUp":                 oneProcess,
		"internal/frontend/tui/memory.go freeMemoryLater":       own + ": the runtime's memory",
		"internal/frontend/tui/plain.go RunPlain":               oneProcess,
		"internal/frontend/tui/plain.go loop":                   oneProcess,
		"internal/frontend/tui/plain.go fetch":                  oneProcess,
		"internal/frontend/tui/plain.go interrupt":              oneProcess,
		"internal/frontend/tui/feed.go run":                     oneProcess,
		"internal/frontend/tui/writer.go last":                  own + ": writes bytes to the terminal",
		"internal/hostsocket/server.go Listen":                  own + ": accepts connections; each has its boundary",
		"internal/journal/log.go AfterFailure":                  own + ": cancels a context",
		"internal/journal/log.go wakeWriter":                    own + ": the writer; after its panic nothing is durable",
		"internal/session/session.go Open":                      own + ": the actor; callbacks of the embedding program have boundaries where it calls them",
		"internal/turn/turn.go withLimits":                      own + ": cancels a context",
		"tool/mcp/stdio.go startPipe":                           own + ": moves bytes and ends a process",
		"tool/shell/jobs.go adopt":                              own + ": waits for a process and records its end",
		"tool/shell/jobs.go endAll":                             own + ": ends processes",
		"tool/shell/progress.go newProgress":                    "pass, which it calls, has the boundary: the reader of the output calls that, too",
		"tool/shell/shell.go end":                               own + ": ends a process",
	}
}

// TestGoroutinesStopPanics: a panic that leaves a goroutine ends the host with all its sessions. A
// function that a go statement, WaitGroup.Go, time.AfterFunc or context.AfterFunc starts in these
// packages begins with scope.Shield or scope.Guard, or does nothing that can panic: it waits,
// closes, cancels, sends.
func TestGoroutinesStopPanics(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		in := func(room string) bool { return s.dir == room || room != "." && strings.HasPrefix(s.dir, room+"/") }
		if s.test || strings.HasSuffix(s.dir, "test") || !slices.ContainsFunc(bounded(), in) {
			continue
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			key := s.name + " " + f.Name.Name
			for _, start := range starts(f.Body) {
				if stopsPanics(start.run) ||
					start.lane &&
						slices.Contains(
							[]string{"internal/frontend/acp", "internal/frontend/compat/appserver"}, s.dir,
						) { // rpc.Server.Go
					continue
				}
				if used[key] = true; unbounded()[key] == "" {
					t.Errorf(
						"%s:%d: %q has a goroutine or callback in which a panic would end the host; begin it with scope.Shield",
						s.name, s.line(start.at.Pos()), key,
					)
				}
			}
		}
	}
	for key, why := range unbounded() {
		if !used[key] {
			t.Errorf("%s is allowed (%s), but is not there", key, why)
		}
	}
}

// start is a place that starts a goroutine or registers a callback.
type start struct {
	at   ast.Node
	run  ast.Expr // the function
	lane bool     // by a method named Go
}

func starts(body ast.Node) (list []start) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			list = append(list, start{n, n.Call, false})
		case *ast.CallExpr:
			name, method := called(n.Fun), ""
			if x, ok := n.Fun.(*ast.SelectorExpr); ok {
				method = x.Sel.Name
			}
			switch {
			case (name == "time.AfterFunc" || name == "context.AfterFunc") && len(n.Args) == 2:
				list = append(list, start{n, n.Args[1], false})
			case method == "Go" && len(n.Args) == 1:
				list = append(list, start{n, n.Args[0], true})
			}
		}
		return true
	})
	return list
}

// shields are the functions that stop a panic of their function argument.
var shields = []string{"Shield", "Guard", "guarded", "shielded"}

// stopsPanics reports whether the function that is started stops panics, or can have
// none.
func stopsPanics(run ast.Expr) bool {
	switch x := run.(type) {
	case *ast.CallExpr: // go f(), where f is a literal, or returned by a shield
		if slices.Contains(shields, nameOf(x.Fun)) {
			return true
		}
		return stopsPanics(x.Fun)
	case *ast.FuncLit:
		return holds(x.Body)
	case *ast.SelectorExpr: // a method that is passed on
		return slices.Contains(plain, x.Sel.Name)
	}
	return false
}

// holds reports whether a body stops panics, or has only calls that cannot panic.
func holds(body *ast.BlockStmt) bool {
	if len(body.List) == 1 { // only the shielded function
		if x, ok := body.List[0].(*ast.ExprStmt); ok {
			if call, ok := x.X.(*ast.CallExpr); ok && stopsPanics(call) {
				return true
			}
		}
	}
	harmless, shielded := true, false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch name := nameOf(call.Fun); {
		case name == "recover" || slices.Contains(shields, name):
			shielded = true
			return false // the argument
		case !slices.Contains(plain, name):
			harmless = false
		}
		return true
	})
	return harmless || shielded && firstIsShield(body)
}

// firstIsShield reports whether all of the body but deferred and plain statements is
// within a shield.
func firstIsShield(body *ast.BlockStmt) bool {
	for _, s := range body.List {
		outside := false
		ast.Inspect(s, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := nameOf(call.Fun)
			if name == "recover" || slices.Contains(shields, name) {
				return false
			}
			// The statements that handle the panic are settle's own.
			if _, isIf := s.(*ast.IfStmt); !isIf && !slices.Contains(plain, name) {
				if _, isDefer := s.(*ast.DeferStmt); !isDefer {
					outside = true
				}
			}
			return true
		})
		if outside {
			return false
		}
	}
	return true
}

// plain are functions and methods that only wait, end, send or count.
var plain = []string{
	"close", "cancel", "cancelled", "stop", "Stop", "Wait", "Close", "Done", "Settle", "Lock", "Unlock", "append", "len", "cap", "delete", "panic",
	"SetDeadline", "SetReadDeadline", "SetWriteDeadline", "CloseNow", "Cause", "Err", "After", "NewTimer", "Reset", "Add", "Store", "Load", "New", "Errorf",
	"AfterFunc", "WithoutCancel", "Join", "Sub", "Until", "max", "min", "make", "Background", "Kill", "CloseWrite", "CloseIdleConnections", "cut", "Unix", "Copy",
}

// nameOf is the last part of a function's name; "func" of a literal.
func nameOf(fun ast.Expr) string {
	switch x := fun.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.IndexExpr:
		return nameOf(x.X)
	case *ast.FuncLit:
		return "func"
	case *ast.CallExpr:
		return nameOf(x.Fun)
	}
	return fmt.Sprintf("%T", fun)
}
