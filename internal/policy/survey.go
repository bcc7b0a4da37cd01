package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// survey is what must be known of a whole script before its parts are judged.
type survey struct {
	// functions are those that the script declares, wherever it runs, by where
	// each has been declared.
	functions map[string]uint
	// own are variables that the script sets, to what is no secret.
	own map[string]bool
	// numeric says that the script sets variables to numbers only.
	numeric bool
	// loops says that a command may run more than once, or out of order.
	loops bool
}

// look goes over a script.
func look(file *syntax.File) survey {
	v := survey{functions: map[string]uint{}, own: map[string]bool{}, numeric: true}
	for _, stmt := range file.Stmts {
		if f, ok := stmt.Cmd.(*syntax.FuncDecl); ok && f.Name != nil && !stmt.Background && len(stmt.Redirs) == 0 {
			v.functions[f.Name.Value] = f.End().Offset()
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl, *syntax.WhileClause:
			v.loops = true
		case *syntax.ForClause:
			v.loops = true
			if iter, ok := n.Loop.(*syntax.WordIter); ok {
				v.sets(iter.Name.Value, iter.Items...)
				v.numeric = v.numeric && iter.InPos.IsValid()
			}
		case *syntax.CStyleLoop:
			v.counts(n)
		case *syntax.Assign:
			v.assigned(n)
		case *syntax.CallExpr:
			v.setter(n)
		}
		return true
	})
	return v
}

func (v *survey) assigned(n *syntax.Assign) {
	switch {
	case n.Name == nil:
	case n.Array != nil:
		for _, element := range n.Array.Elems {
			if element.Value != nil {
				v.sets(n.Name.Value, element.Value)
			}
		}
	case n.Value != nil:
		v.sets(n.Name.Value, n.Value)
	}
}

// counts notes the variables of a loop that counts: they are numbers.
func (v *survey) counts(n *syntax.CStyleLoop) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if assign, ok := n.(*syntax.BinaryArithm); ok {
			if w, ok := assign.X.(*syntax.Word); ok {
				if _, set := v.own[w.Lit()]; !set {
					v.own[w.Lit()] = true
				}
			}
		}
		return true
	})
}

// sets notes what a variable is set to.
func (v *survey) sets(name string, values ...*syntax.Word) {
	own, before := v.own[name]
	own = own || !before
	for _, value := range values {
		own = own && (&script{survey: *v}).plain(value)
		v.numeric = v.numeric && isNumber(value)
	}
	v.own[name] = own
}

func isNumber(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		return strings.Trim(part.Value, "0123456789{}.") == "" // braces make a sequence
	case *syntax.ArithmExp:
		return true // it has been looked at by itself
	}
	return false
}

// setter notes commands that set variables, or take functions away.
func (v *survey) setter(n *syntax.CallExpr) {
	for i, arg := range n.Args {
		w := word{}
		if static(arg.Parts) {
			w = (&script{}).staticWord(arg)
		}
		if i == 0 && !w.definite() {
			v.numeric = false
			clear(v.functions)
		}
		switch w.text {
		case "eval", "source", ".", "trap", "unset", "enable":
			v.numeric = false
			clear(v.functions)
		case "read":
			v.numeric = false
			v.reads(n.Args[i+1:])
			return
		case "mapfile", "readarray", "printf", "getopts", "set", "wait", "declare", "typeset", "local", "export":
			v.numeric = false
		}
	}
}

// reads notes the variables of read: what they get is judged where it comes
// from.
func (v *survey) reads(args []*syntax.Word) {
	for _, arg := range args {
		if _, set := v.own[arg.Lit()]; !set {
			v.own[arg.Lit()] = true
		}
	}
}
