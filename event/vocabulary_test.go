package event

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// facts are the kinds that neither start nor end anything, each with the reason.
var facts = map[Kind]string{
	KindInputHeld:          "the input waits on",
	KindInterruptRequested: "what it asks for has its own ending",
	KindHistoryChanged:     "it holds from then on",
	KindItemDelta:          "between an item's start and end",
	KindCallReady:          "between an item's start and end",
}

// endings returns, for each kind of event that starts an entity, the kinds of events that can end
// it; exactly one event does.
func endings() map[Kind][]Kind {
	return map[Kind][]Kind{
		KindSessionOpened:     {KindSessionClosed, KindSessionRecovered},
		KindInputAccepted:     {KindTurnStarted, KindAttemptStarted, KindInputDropped},
		KindTurnStarted:       {KindTurnCompleted, KindTurnAborted, KindTurnFailed},
		KindAttemptStarted:    {KindAttemptEnded},
		KindItemStarted:       {KindItemEnded},
		KindCallStarted:       {KindItemEnded},
		KindApprovalRequested: {KindApprovalEnded},
		KindJobStarted:        {KindJobEnded},
		KindChildStarted:      {KindChildEnded},
		KindHookStarted:       {KindHookEnded},
	}
}

// TestEveryKindHasItsPlace: a kind starts something, or ends something, or
// is a fact in between.
func TestEveryKindHasItsPlace(t *testing.T) {
	starts := endings()
	var ends []Kind
	for start, list := range starts {
		if len(list) == 0 {
			t.Errorf("%s starts something that nothing ends", start)
		}
		ends = append(ends, list...)
	}
	known := Kinds()
	for _, k := range known {
		_, isStart := starts[k]
		_, isFact := facts[k]
		if isFact == (isStart || slices.Contains(ends, k)) {
			t.Errorf("%s: a start %v, an ending %v, a fact %v", k, isStart, slices.Contains(ends, k), isFact)
		}
	}
	for _, k := range ends {
		if !slices.Contains(known, k) {
			t.Errorf("the ending %s is no kind", k)
		}
	}
	for k := range starts {
		if !slices.Contains(known, k) {
			t.Errorf("the start %s is no kind", k)
		}
	}
}

// TestEveryStartIsEnded: for each start there is a state in which it is the
// last thing that happened, and Endings or Closings end it.
func TestEveryStartIsEnded(t *testing.T) {
	call := func(s *session) { s.attempt().ready(item1) }
	setups := map[Kind]struct {
		before func(*session)
		start  Event
	}{
		KindTurnStarted:       {nil, inTurn(TurnStarted{})},
		KindAttemptStarted:    {func(s *session) { s.turn() }, inAttempt(AttemptStarted{})},
		KindItemStarted:       {func(s *session) { s.attempt() }, inItem(item1, ItemStarted{Type: Message})},
		KindCallStarted:       {call, inItem(item1, CallStarted{})},
		KindApprovalRequested: {call, inItem(item1, ApprovalRequested{Approval: "p000001"})},
		KindJobStarted:        {call, inItem(item1, JobStarted{Job: "j000001"})},
		KindChildStarted:      {nil, Event{Data: ChildStarted{Child: "c000001"}}},
		KindHookStarted:       {call, inItem(item1, HookStarted{Hook: "h000001", Event: HookBefore})},
	}
	for start, ends := range endings() {
		switch start {
		case KindSessionOpened:
			s := newSession(t)
			s.add(Closings(s.state, Abort(Shutdown, "host"))...)
			s.add(Event{Data: SessionClosed{}})
			continue
		case KindInputAccepted: // C19: it is not ended by force, but held
			s := newSession(t)
			s.add(Event{Data: InputAccepted{Input: "n1"}})
			s.add(Closings(s.state, Abort(Shutdown, "host"))...)
			if len(s.state.Waiting) != 1 || !s.state.Waiting[0].Held {
				t.Errorf("the input that waits became %+v", s.state.Waiting)
			}
			continue
		}
		setup, ok := setups[start]
		if !ok {
			t.Errorf("no state in which %s is ended by force", start)
			continue
		}
		s := newSession(t)
		if setup.before != nil {
			setup.before(s)
		}
		s.add(setup.start)
		before := len(s.events)
		s.add(Closings(s.state, Abort(Crashed, "host"))...)
		var n int
		for _, e := range s.events[before:] {
			sameItem := e.Item == setup.start.Item || e.Item == ""
			if slices.Contains(ends, e.Kind()) && sameItem {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s was ended %d times by %v", start, n, ends)
		}
	}
}

// TestUnionIsClosed reads the source: each type with a sealed method has its
// kind, is listed, is decoded, and is folded.
func TestUnionIsClosed(t *testing.T) {
	src := parseSource(t)
	for _, name := range src.methods["sealed"] {
		if name != "Unknown" && !slices.Contains(src.methods["Kind"], name) {
			t.Errorf("%s has no Kind of its own", name)
		}
		if name == "Unknown" {
			continue
		}
		if !slices.Contains(src.decoded, name) {
			t.Errorf("decodeData does not decode %s", name)
		}
		if !slices.Contains(src.cased["fold.go"], name) {
			t.Errorf("Fold has no case for %s", name)
		}
	}
	for constant, value := range src.consts["Kind"] {
		if !slices.Contains(Kinds(), Kind(value)) {
			t.Errorf("Kinds does not list %s", constant)
		}
		want := strings.TrimPrefix(constant, "Kind")
		if !slices.Contains(src.methods["sealed"], want) {
			t.Errorf("%s has no data type %s", constant, want)
		}
	}
	if got, want := len(Kinds()), len(src.consts["Kind"]); got != want {
		t.Errorf("Kinds lists %d kinds, the source has %d", got, want)
	}
}

// TestKindsDecode: each kind decodes to the data type of its name.
func TestKindsDecode(t *testing.T) {
	for _, k := range Kinds() {
		d, err := decodeData(k, json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, unknown := d.(Unknown); unknown || d.Kind() != k {
			t.Errorf("%s decodes to a %T of kind %s", k, d, d.Kind())
		}
		name := strings.ToLower(reflect.TypeOf(d).Name())
		if want := strings.ReplaceAll(string(k), ".", ""); name != want {
			t.Errorf("%s has the data type %T", k, d)
		}
	}
}

// source is the part of the package's source that the tests check.
type source struct {
	methods map[string][]string          // method to the receivers' types
	consts  map[string]map[string]string // type to its constants and their values
	cased   map[string][]string          // file to the types in its type switches
	decoded []string                     // type arguments of decode
}

func parseSource(t *testing.T) source {
	t.Helper()
	src := source{methods: map[string][]string{}, consts: map[string]map[string]string{}, cased: map[string][]string{}}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool { src.note(name, n); return true })
	}
	return src
}

func (src *source) note(file string, n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Recv != nil {
			if typ, ok := n.Recv.List[0].Type.(*ast.Ident); ok {
				src.methods[n.Name.Name] = append(src.methods[n.Name.Name], typ.Name)
			}
		}
	case *ast.IndexExpr:
		if f, ok := n.X.(*ast.Ident); ok && f.Name == "decode" {
			src.decoded = append(src.decoded, n.Index.(*ast.Ident).Name)
		}
	case *ast.TypeSwitchStmt:
		for _, clause := range n.Body.List {
			for _, typ := range clause.(*ast.CaseClause).List {
				src.cased[file] = append(src.cased[file], typ.(*ast.Ident).Name)
			}
		}
	case *ast.ValueSpec:
		typ, ok := n.Type.(*ast.Ident)
		if !ok || len(n.Values) == 0 {
			return
		}
		if lit, ok := n.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if src.consts[typ.Name] == nil {
				src.consts[typ.Name] = map[string]string{}
			}
			src.consts[typ.Name][n.Names[0].Name], _ = strconv.Unquote(lit.Value)
		}
	}
}
