package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
)

// cachingModels are models whose providers cache, with the wires that they are
// reached by.
func cachingModels() map[string]Wire {
	return map[string]Wire{
		"claude-opus-5":           Messages,
		"gpt-5.4":                 Responses,
		"gpt-5.6-sol":             Responses,
		"gpt-4.1":                 Chat,
		"gemini-3.8-flash":        "chat/gemini",
		"anthropic/claude-opus-5": "chat/openrouter",
	}
}

// cachedInCI are the models that only CI plays.
var cachedInCI = []string{"gpt-5.4", "gpt-4.1", "gemini-3.8-flash", "anthropic/claude-opus-5"}

// longSteps is the number of steps of a long session.
const longSteps = 40

// longSessions returns sessions whose cost depends on the cache.
func longSessions() map[string]string {
	var steps, alone, many, talk strings.Builder
	for n := range longSteps {
		fmt.Fprintf(&steps, "model\n  think \"Step %d.\"\n  call flood %d\n", n, 1200+n)
		fmt.Fprintf(&alone, "model\n  call flood %d\n", 1200+n)
		if n%5 == 0 {
			many.WriteString("model\n  think \"All.\"\n")
			for m := range 30 {
				fmt.Fprintf(&many, "  call flood %d\n", 50+31*n+m)
			}
		}
		fmt.Fprintf(
			&talk,
			"model\n  think \"Answer %d.\"\n  say \"This is the answer, at some length.\"\nafter %ds input \"question %d\"\n",
			n, 60*n, n,
		)
	}
	return map[string]string{
		"many steps":                steps.String() + "input \"go\"\n",
		"steps without thinking":    strings.ReplaceAll(steps.String(), "  think", "  say") + "input \"go\"\n",
		"calls alone":               alone.String() + "input \"go\"\n",
		"many questions":            talk.String(),
		"calls by the dozen":        many.String() + "input \"go\"\n",
		"steered, with pictures":    steps.String() + "input \"go\"\non 100 input steer \"left\"\non 150 input steer image \"like that\"\non 250 input steer \"right\"\n",
		"interrupted and continued": steps.String() + "input \"go\"\non 100 interrupt\nafter 1m input \"go on\"\non 300 interrupt\nafter 2m input \"on\"\n",
		"crashed and continued":     steps.String() + "input \"go\"\non 100 crash\nafter 1m input \"go on\"\non 300 crash\nafter 2m input \"on\"\n",
		"compacted":                 "window 30000\ncompact auto\n" + steps.String() + "input \"go\"\n",
		"compacted without a model": "window 30000\ncompact mechanical\n" + steps.String() + "input \"go\"\n",
		"a server that often breaks": strings.ReplaceAll(
			steps.String(), "model\n", "model\n  fault reset at delta 1 first 1\n",
		) + "input \"go\"\n",
	}
}

// excused are misses that settle cannot help: by the session, and "" or the wire.
func excused() map[string]Wire {
	return map[string]Wire{
		"another account amid a turn": "",       // whose cache is another
		"steered, with pictures":      Messages, // a picture anywhere is another prefix
	}
}

// reads counts the input that came from the cache.
type reads struct {
	input, read    int64
	resent, reread int64 // tokens of the previous request, and their cached part; not at a prefix change
	misses         []string
}

func (r *reads) add(other reads) {
	r.input, r.read, r.resent, r.reread = r.input+other.input, r.read+other.read, r.resent+other.resent, r.reread+other.reread
}

func share(part, of int64) float64 { return 100 * float64(part) / float64(max(of, 1)) }

// TestCache: the repeated part of a request is read from the provider's cache, except at a prefix
// change; over long sessions that is at least 95 in 100 of all input tokens.
func TestCache(t *testing.T) {
	catalogue := turns(t)
	for name, wire := range cachingModels() {
		if raced && wire != Responses { // its own code is the same on all
			continue
		}
		if !everyWire && slices.Contains(cachedInCI, name) {
			continue
		}
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			short, long := reads{}, reads{}
			for title, s := range catalogue {
				s.Caches, s.Fallback = name, "" // on a fallback's wire, the same model may not cache
				short.add(cacheReads(t, title, s, wire))
			}
			for title, text := range longSessions() {
				s, err := Parse(text)
				if err != nil {
					t.Fatal(title, err)
				}
				s.Caches = name
				r := cacheReads(t, title, s, wire)
				long.add(r)
				t.Logf("%-28s %6.2f %% of %d", title, share(r.read, r.input), r.input)
			}
			t.Logf(
				"catalogue: %.2f %% of %d, %.2f %% of what is sent again",
				share(short.read, short.input),
				short.input,
				share(short.reread, short.resent),
			)
			t.Logf("long sessions: %.2f %% of %d", share(long.read, long.input), long.input)
			if share(short.reread, short.resent) < 95 || share(long.read, long.input) < 95 {
				t.Error("too little is read from the cache")
			}
		})
	}
}

// cacheReads plays the script, and returns the cache reads. A request that reads less than the
// previous request left is an error.
func cacheReads(t *testing.T, title string, s Script, wire Wire) reads {
	t.Helper()
	s.Wire = wire
	var events []event.Event
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(s, nil)
		w.play()
		w.end()
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
		var err error
		if events, err = w.disk.events(); err != nil {
			t.Error(err)
		}
	})
	r := countReads(events)
	if excuse, ok := excused()[title]; len(r.misses) > 0 && (!ok || excuse != "" && excuse != wire) {
		t.Errorf("%s:\n%s", title, strings.Join(r.misses, "\n"))
	}
	return r
}

const (
	stepOfGPT  = 128             // a cache can leave out so much at the end
	cacheLives = 5 * time.Minute // at the least
)

// countReads compares each response with the one before it.
func countReads(events []event.Event) (r reads) {
	var had int64 // in the cache, that the next request can read
	var at, asked time.Time
	summary := false
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.HistoryChanged:
			had = 0
		case event.AttemptStarted:
			asked, summary = e.At, d.Purpose != ""
		case event.AttemptEnded:
			if d.Usage.Input == 0 { // no response began
				continue
			}
			if had > 0 && asked.Sub(at) < cacheLives && !summary { // which sends less than there was
				r.resent += min(had, d.Usage.Input)
				r.reread += min(had, d.Usage.CacheRead)
				if d.Usage.CacheRead < had-stepOfGPT {
					r.misses = append(r.misses, fmt.Sprintf("event %d: attempt %s read %d of %d tokens, and the one before left %d", e.Seq, e.Attempt, d.Usage.CacheRead, d.Usage.Input, had))
				}
			}
			r.input, r.read = r.input+d.Usage.Input, r.read+d.Usage.CacheRead
			had, at = d.Usage.Input, asked
			if d.Usage.CacheWrite > 0 {
				had = d.Usage.CacheRead + d.Usage.CacheWrite
			}
		}
	}
	return r
}
