package house_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"testing"
)

// mayBeState are package-level variables that are state for a reason.
func mayBeState() map[string]string {
	return map[string]string{
		"internal/test/swap.times":     "a flag of tests, which no build of the program has",
		"internal/test/shake.schedule": "the scheduler is one, too, and a point has no parameter; no normal build has points",
		"internal/test/shake.holds":    "remembers what it was asked about, for the schedule",
		"internal/proc/pdf.program":    "whether main lets this binary be an extractor: a fact of the process",
		"internal/proc/pdf.slots":      "bounds the extractors of the process, whose memory all sessions share",
		"internal/disk.workDirs":       "shares a descriptor between all sessions of the process in one directory",
		"tool.schemas":                 "shares schemas that follow from their keys between all sessions of the process",
		"tool/family.schemas":          "shares texts that follow from their keys between all sessions of the process",
		"internal/proc.host":           "the process has one subreaper and one self: facts of the process, not of a package",
	}
}

// mayHaveInit are the files with an init function, for a reason.
func mayHaveInit() map[string]string {
	return map[string]string{
		"internal/proc/early/early.go": "a supervisor must be one before any other package of the binary starts anything",
	}
}

// Starting costs nothing and hides nothing.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if _, may := mayHaveInit()[s.name]; ok && !s.test && !may && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s:%d has an init function", s.name, s.line(f.Pos()))
			}
		}
	}
}

// variable is a package-level variable.
type variable struct {
	source
	pos  token.Pos
	name string // with its package
	init ast.Expr
}

func TestNoPackageState(t *testing.T) {
	all := sources(t)
	written := map[string]string{}
	for _, s := range all {
		if !s.test {
			writes(s, func(name string, line int) { written[name] = fmt.Sprintf("%s:%d", s.name, line) })
		}
	}
	seen := map[string]bool{}
	for _, v := range variables(all) {
		seen[v.name] = true
		if _, ok := mayBeState()[v.name]; ok {
			continue
		}
		switch {
		case v.init == nil:
			t.Errorf("%s:%d: %s has no value, so it is state", v.source.name, v.line(v.pos), v.name)
		case worksAtStart(v.init):
			t.Errorf("%s:%d: %s is computed at every start; use sync.OnceValue", v.source.name, v.line(v.pos), v.name)
		case written[v.name] != "":
			t.Errorf("%s:%d: %s is changed at %s", v.source.name, v.line(v.pos), v.name, written[v.name])
		}
	}
	for name := range mayBeState() {
		if !seen[name] {
			t.Errorf("%s is allowed, but is not there", name)
		}
	}
}

func variables(all []source) []variable {
	var found []variable
	for _, s := range all {
		if s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR || embedded(group) {
				continue
			}
			for _, spec := range group.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for i, name := range value.Names {
					v := variable{source: s, pos: name.Pos(), name: s.dir + "." + name.Name}
					if i < len(value.Values) {
						v.init = value.Values[i]
					}
					if name.Name != "_" {
						found = append(found, v)
					}
				}
			}
		}
	}
	return found
}

func embedded(group *ast.GenDecl) bool {
	if group.Doc == nil {
		return false
	}
	for _, comment := range group.Doc.List {
		if len(comment.Text) > 10 && comment.Text[:10] == "//go:embed" {
			return true
		}
	}
	return false
}

// worksAtStart reports whether the value calls a function that is not cheap or has an effect.
func worksAtStart(value ast.Expr) bool {
	cheap := map[string]bool{
		"errors.New": true, "fmt.Errorf": true,
		"sync.OnceValue": true, "sync.OnceValues": true, "sync.OnceFunc": true,
		"reflect.TypeFor": true,
	}
	works := false
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // runs later
		case *ast.CallExpr:
			works = works || !conversion(n.Fun) && !cheap[called(n.Fun)]
		}
		return true
	})
	return works
}

func conversion(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.ArrayType, *ast.ParenExpr:
		return true
	case *ast.Ident:
		return token.IsExported(fun.Name) && fun.Obj != nil && fun.Obj.Kind == ast.Typ
	}
	return false
}

func called(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.IndexExpr:
		return called(fun.X)
	case *ast.SelectorExpr:
		if pkg, ok := fun.X.(*ast.Ident); ok {
			return pkg.Name + "." + fun.Sel.Name
		}
	}
	return ""
}

// writes calls found for each package-level variable that the file may change:
// assigned to, counted, given away by address, or changed by a builtin.
func writes(s source, found func(name string, line int)) {
	report := func(target ast.Expr) {
		if name := variableOf(s, target); name != nil {
			found(s.dir+"."+name.Name, s.line(name.Pos()))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				return true
			}
			for _, target := range n.Lhs {
				report(target)
			}
		case *ast.IncDecStmt:
			report(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				report(n.X)
			}
		case *ast.CallExpr:
			if builtin, ok := n.Fun.(*ast.Ident); ok && (builtin.Name == "delete" || builtin.Name == "clear") {
				report(n.Args[0])
			}
		}
		return true
	})
}

// variableOf returns the variable in x, x.f, x[i], *x, unless it is a local one.
func variableOf(s source, target ast.Expr) *ast.Ident {
	for {
		switch at := target.(type) {
		case *ast.SelectorExpr:
			target = at.X
		case *ast.IndexExpr:
			target = at.X
		case *ast.StarExpr:
			target = at.X
		case *ast.ParenExpr:
			target = at.X
		case *ast.Ident:
			if at.Obj == nil {
				return at // of another file, or a package
			}
			if s.file.Scope.Lookup(at.Name) == at.Obj {
				return at
			}
			return nil
		default:
			return nil
		}
	}
}
