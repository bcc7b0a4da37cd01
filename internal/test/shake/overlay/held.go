package main

import (
	"bytes"
	"fmt"
	"go/ast"
)

// lines are lines of a file, the last one included, on which a lock is held.
type lines struct {
	file     string
	from, to int
}

// held returns where the file's functions hold locks: from the line after a
// Lock to the last Unlock, or to the function's end where that is deferred. A
// line too many costs a sleep, a line too few a hang.
func (s *source) held() (out []lines) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch f := n.(type) {
		case *ast.FuncDecl:
			if f.Body != nil {
				out = append(out, s.heldIn(f.Body)...)
			}
		case *ast.FuncLit:
			out = append(out, s.heldIn(f.Body)...)
		}
		return true
	})
	return out
}

func (s *source) heldIn(body *ast.BlockStmt) []lines {
	first, last, deferred := 0, 0, false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			name := called(n.Call)
			deferred = deferred || name == "Unlock" || name == "RUnlock"
			return false
		case *ast.CallExpr:
			switch line := s.line(n.Pos()); called(n) {
			case "Lock", "RLock", "TryLock":
				if first == 0 {
					first = line + 1
				}
			case "Unlock", "RUnlock":
				last = line
			}
		}
		return true
	})
	switch {
	case first == 0:
		return nil
	case deferred || last == 0:
		last = s.line(body.Rbrace)
	}
	return []lines{{s.name, first, last}}
}

// table returns the source that replaces internal/test/shake/lines.go.
func table(held []lines, seed uint64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package shake\n\nconst On = true\n\nconst first = %d\n\n", seed)
	b.WriteString("func held() []Lines { return lockedLines }\n\nvar lockedLines = []Lines{\n")
	for _, l := range held {
		fmt.Fprintf(&b, "\t{%q, %d, %d},\n", l.file, l.from, l.to)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
