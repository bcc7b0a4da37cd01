package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

const (
	shakePackage = "github.com/settle-agent/settle/internal/test/shake"
	point        = "shakePackage.Point()"
)

// source is a file of the module.
type source struct {
	name string
	raw  []byte
	fset *token.FileSet
	file *ast.File
}

func parse(name string, raw []byte) (*source, error) {
	s := &source{name: name, raw: raw, fset: token.NewFileSet()}
	var err error
	if s.file, err = parser.ParseFile(s.fset, name, raw, parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("cannot parse %q: %w", name, err)
	}
	return s, nil
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }
func (s *source) line(p token.Pos) int   { return s.fset.Position(p).Line }

// insertion is text to be put in at a place.
type insertion struct {
	at   int
	text string
}

// withPoints returns the file with points, on the same lines as before, and how
// many it got.
func (s *source) withPoints() ([]byte, int) {
	var in []insertion
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			in = append(in, s.around(n.List)...)
		case *ast.CaseClause:
			in = append(in, s.around(n.Body)...)
		case *ast.CommClause:
			in = append(in, insertion{s.offset(n.Colon) + 1, " " + point + ";"})
			in = append(in, s.around(n.Body)...)
		case *ast.GoStmt:
			if f, ok := n.Call.Fun.(*ast.FuncLit); ok {
				in = append(in, insertion{s.offset(f.Body.Lbrace) + 1, " " + point + ";"})
			}
		}
		return true
	})
	points := len(in)
	if points == 0 {
		return s.raw, 0
	}
	in = append(in, insertion{s.offset(s.file.Name.End()), "; import shakePackage \"" + shakePackage + "\""})
	slices.SortStableFunc(in, func(a, b insertion) int { return a.at - b.at })
	var out bytes.Buffer
	last := 0
	for _, i := range in {
		out.Write(s.raw[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.Write(s.raw[last:])
	return out.Bytes(), points
}

// around returns points before the statements at which goroutines synchronize, and after
// the statements that let another goroutine continue.
func (s *source) around(list []ast.Stmt) (in []insertion) {
	for _, stmt := range list {
		if !meets(stmt) {
			continue
		}
		in = append(in, insertion{s.offset(stmt.Pos()), point + ";"})
		if locks(stmt) {
			continue // the line of a Lock counts as before it
		}
		switch stmt.(type) {
		case *ast.ExprStmt, *ast.GoStmt, *ast.SendStmt, *ast.AssignStmt:
			in = append(in, insertion{s.offset(stmt.End()), ";" + point})
		}
	}
	return in
}

// locks reports whether the statement takes a lock.
func locks(stmt ast.Stmt) (is bool) {
	ast.Inspect(stmt, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			is = is || slices.Contains([]string{"Lock", "RLock", "TryLock"}, called(c))
		}
		return !is
	})
	return is
}

// meetings are the methods by which goroutines meet.
func meetings() []string {
	return []string{
		"Lock",
		"Unlock",
		"RLock",
		"RUnlock",
		"TryLock",
		"Update",
		"View",
		"Wait",
		"Settle",
		"Go",
		"AfterFunc",
		"Store",
		"Load",
		"Err",
		"Close",
		"do",
		"cancel",
		"end",
	}
}

// meets reports whether the statement itself, or one of its expressions, is such an
// operation. It does not look into the statement's blocks.
func meets(stmt ast.Stmt) (is bool) {
	switch stmt.(type) {
	case *ast.DeferStmt, *ast.DeclStmt, *ast.CaseClause, *ast.CommClause:
		return false
	case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt:
		return true
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.BlockStmt:
			return false
		case *ast.UnaryExpr:
			is = is || n.Op == token.ARROW
		case *ast.CallExpr:
			is = is || slices.Contains(meetings(), called(n)) || called(n) == "close"
		}
		return !is
	})
	return is
}

// called returns the last name of the called function.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
