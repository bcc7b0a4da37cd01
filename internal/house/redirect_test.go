package house_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// ownRedirects are the files that decide themselves which redirects are followed, for a
// reason.
func ownRedirects() map[string]string {
	return map[string]string{
		"internal/egress/redirect.go":         "the policy itself",
		"internal/frontend/about/download.go": "releases need no credentials, and their host keeps them on other servers: egress.AnyServer",
		"tool/web/fetch.go":                   "web_fetch carries no credentials; it follows none by the client, and up to five by itself, each judged anew",
	}
}

// TestClientsShareOneRedirectPolicy: an HTTP client of settle follows redirects by
// egress.SameServer. A replaced CheckRedirect loses Go's limit of ten, and a missing one
// takes headers along to another server.
func TestClientsShareOneRedirectPolicy(t *testing.T) {
	aids := []string{"modeltest", "model/internal/wiretest", "internal/oauth/oauthtest", "clients"}
	for _, s := range sources(t) {
		if _, may := ownRedirects()[s.name]; may || s.test ||
			slices.ContainsFunc(
				aids,
				func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") },
			) {
			continue
		}
		guarded := map[ast.Node]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch name := called(n.Fun); name {
				case "egress.SameServer", "egress.SameServerOnly":
					guarded[clientLiteral(n.Args[0])] = true
				case "egress.AnyServer":
					t.Errorf("%s:%d follows redirects to any server; use egress.SameServer", s.name, s.line(n.Pos()))
				case "http.Get", "http.Head", "http.Post", "http.PostForm":
					t.Errorf("%s:%d uses %s, which follows redirects to other servers; use egress.SameServer", s.name, s.line(n.Pos()), name)
				}
			case *ast.CompositeLit:
				if isClient(n) && !guarded[n] {
					t.Errorf("%s:%d makes an http.Client without egress.SameServer", s.name, s.line(n.Pos()))
				}
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); n.Sel.Name == "CheckRedirect" || ok && pkg.Name == "http" && n.Sel.Name == "DefaultClient" {
					t.Errorf("%s:%d uses %s; which redirects are followed is egress.SameServer's to say", s.name, s.line(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// clientLiteral returns the literal of an http.Client that x is, or nil.
func clientLiteral(x ast.Expr) ast.Node {
	if address, ok := x.(*ast.UnaryExpr); ok {
		x = address.X
	}
	if literal, ok := x.(*ast.CompositeLit); ok && isClient(literal) {
		return literal
	}
	return nil
}

func isClient(literal *ast.CompositeLit) bool {
	kind, ok := literal.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := kind.X.(*ast.Ident)
	return ok && pkg.Name == "http" && kind.Sel.Name == "Client"
}
