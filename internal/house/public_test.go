package house_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestPublicPackagesShowTheirTypes: public packages mention no type that other modules cannot
// import, neither by an alias nor in a field, a method or a function. Else "go doc" shows a name
// without its documentation.
func TestPublicPackagesShowTheirTypes(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "cmd") || s.dir == "clients" || strings.HasPrefix(s.dir, "internal") ||
			strings.Contains(s.dir, "/internal") {
			continue
		}
		hidden := s.hidden()
		if len(hidden) == 0 {
			continue
		}
		for _, d := range s.file.Decls {
			for _, n := range shown(d) {
				ast.Inspect(n, func(n ast.Node) bool {
					if x, ok := n.(*ast.SelectorExpr); ok {
						if name, ok := x.X.(*ast.Ident); ok && hidden[name.Name] {
							t.Errorf("%s shows %s.%s, which nobody can look up", s.name, name.Name, x.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
}

// hidden are the names by which the file imports internal packages.
func (s source) hidden() map[string]bool {
	names := map[string]bool{}
	for _, spec := range s.file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if !strings.HasPrefix(path, module) || !strings.Contains(path+"/", "/internal/") {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = true
	}
	return names
}

// shown returns the types that a declaration shows to others.
func shown(d ast.Decl) (types []ast.Node) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
			types = append(types, d.Type)
		}
	case *ast.GenDecl:
		if d.Tok != token.TYPE {
			return nil
		}
		for _, spec := range d.Specs {
			if spec := spec.(*ast.TypeSpec); spec.Name.IsExported() {
				types = append(types, fields(spec.Type)...)
			}
		}
	}
	return types
}

// fields returns the exported fields of a struct, and any other type whole.
func fields(x ast.Expr) (out []ast.Node) {
	s, ok := x.(*ast.StructType)
	if !ok {
		return []ast.Node{x}
	}
	for _, f := range s.Fields.List {
		exported := len(f.Names) == 0
		for _, name := range f.Names {
			exported = exported || name.IsExported()
		}
		if exported {
			out = append(out, f.Type)
		}
	}
	return out
}

func exportedReceiver(list *ast.FieldList) bool {
	x := list.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	name, ok := x.(*ast.Ident)
	return ok && name.IsExported()
}
