package shake

import (
	"runtime"
	"strings"
	"sync"
)

// Lines are lines of a file, the last one included.
type Lines struct {
	File     string // from the module's root
	From, To int
}

// places knows where locks are held, by the program's counters.
type places struct {
	list func() []Lines
	seen sync.Map // uintptr → bool
}

var holds = places{list: held}

func (p *places) at(pc uintptr) bool {
	if is, ok := p.seen.Load(pc); ok {
		return is.(bool)
	}
	is := false
	// One counter is several frames where functions were inlined.
	for frames, more := runtime.CallersFrames([]uintptr{pc}), true; more && !is; {
		var f runtime.Frame
		f, more = frames.Next()
		is = locksItself(f.Function) || p.within(f)
	}
	p.seen.Store(pc, is)
	return is
}

// locksItself: sync.Once holds a lock while it calls, and in net/http a
// connection's goroutines are waited for under one.
func locksItself(function string) bool {
	return strings.HasPrefix(function, "sync.(*Once)") || strings.HasPrefix(function, "net/http.")
}

func (p *places) within(f runtime.Frame) bool {
	for _, l := range p.list() {
		if l.From <= f.Line && f.Line <= l.To && strings.HasSuffix(f.File, "/"+l.File) {
			return true
		}
	}
	return false
}
