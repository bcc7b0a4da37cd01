package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

const (
	// leastReserve is what is kept free of a large window at the least.
	minReserve = 16_000
	// mostTail is how many tokens stay as they are, mostLedger and mostSummary how
	// many stand for all the rest; a small window has less of each.
	maxTail, maxDigest, maxSummary = 20_000, 12_000, 8_000
)

// usage is what the provider counted.
type usage struct {
	sent  int // tokens of the last request, as we count them
	input int // of the last one that was answered, as the provider does; 0 if that is not known
	of    int // of the same one, as we do
}

// leastCount is which part of our own count a provider's must be at the least to be
// believed: some count only what was not in their cache.
const minCount = 4

// measure notes what the provider counted in the turn's last attempt.
func (w *walk) measure(t *event.Turn) {
	if w.attempts == 0 {
		return
	}
	a := t.Attempts[w.attempts-1]
	if a.Start.Purpose != "" || a.End == nil || !w.target.made(a) || w.usage.sent == 0 {
		return
	}
	if input := a.End.Usage.Input; input > int64(w.usage.sent/minCount) && input < 1<<40 { // older logs can have any number
		w.usage.input, w.usage.of = int(input), w.usage.sent
	}
}

// counted is the length of the request: what the provider counted, and an estimate
// of what is new since. Where the window is only known from a refusal, it is in
// tokens as we count them.
func (w *walk) counted() int {
	if w.usage.input == 0 || w.windowRefused {
		return w.tokens()
	}
	return w.usage.input + w.tokens() - w.usage.of
}

// threshold is from where on the window counts as full; 0 if it is not known.
func (w *walk) threshold() int {
	if w.window == 0 {
		return 0
	}
	return min(w.room(), w.window-min(minReserve, w.window/4))
}

// compact puts the summary and the ledger in place of what came before.
func (w *walk) compact(c event.Epoch) {
	if w.at < w.refused.firstTurn {
		return // nothing of it is sent
	}
	id := compactionID(w.log.turn(w.at).ID, w.changes)
	text := compactedText(c.HistoryChanged)
	if w.refused.omitTexts[id] {
		text = textUncompacted
	}
	out := []entry{{Item: model.Item{Role: model.User, Text: text}, turn: w.at, attempts: w.attempts, input: id, kind: compacted}}
	cut := w.log.point(c.From)
	for _, e := range w.entries {
		if e.kind != compacted && (w.isProtected(e) || cut.reaches(e)) {
			out = append(out, e)
		}
	}
	w.entries = out
	w.recount()
}

// compactionID names what a compaction says, as ids do inputs.
func compactionID(turn string, n int) string { return fmt.Sprintf("%s:%d", turn, n) }

// point is a place among the entries.
type point struct {
	turn, attempts int
	end            bool // behind all of them
}

func (l Log) point(p *event.Place) point {
	if p != nil {
		for n := len(l.turns) - 1; n >= 0; n-- {
			if l.turns[n].ID == p.Turn {
				return point{turn: n, attempts: p.Attempts}
			}
		}
	}
	return point{end: true}
}

// reaches reports whether the entry comes from there on.
func (p point) reaches(e entry) bool {
	return !p.end && (e.turn > p.turn || e.turn == p.turn && e.attempts >= p.attempts)
}

// compacted is where begins what the last compaction left: no response before it is
// in the history any more. It is the log's beginning if there was none.
func (l Log) compacted() point {
	for n := len(l.turns) - 1; n >= 0; n-- {
		for _, c := range slices.Backward(l.turn(n).Changes) {
			if c.Change != event.ChangeCompacted {
				continue
			}
			if p := l.point(c.From); !p.end {
				return p
			}
			return point{turn: n, attempts: c.Attempts + 1}
		}
	}
	return point{}
}

func compactedText(c event.HistoryChanged) string {
	var b strings.Builder
	b.WriteString(textCompacted)
	if c.Summary != "" {
		fmt.Fprintf(&b, "\n\n<summary>\n%s\n</summary>", strings.TrimSpace(c.Summary))
	}
	if c.Ledger != "" {
		fmt.Fprintf(&b, "\n\n<ledger>\n%s\n</ledger>", strings.TrimSpace(c.Ledger))
	}
	return b.String()
}

// Plan is what a compaction would make of the history.
type Plan struct {
	// From is from where on all stays as it is; nil where nothing does.
	From *event.Place
	// Before is the request's length in tokens, and Kept what stays of it.
	Before, Kept int
	// Removed is what does not, 0 if there is nothing to compact.
	Removed int
	// Window is what the model holds, as far as it is known; Fixed are the tokens
	// of the instructions and the tools, Inputs those of the turn's own inputs.
	Window, Fixed, Inputs int
	// Digest and Summary are how many tokens each may have.
	Digest, Summary int
	// Piece says that not all that should be removed fits one request for a summary;
	// Part, that the request ends at From, since the whole does not fit.
	Piece, Part bool
	// Omit are the inputs that must not be said again: the provider refused them.
	Omit map[string]bool
	// First is the first turn that may be spoken of.
	First int
}

// Freed is how many tokens become free if so many stand for what is removed, as
// the provider counts them.
func (p Plan) Freed(tokens int) int {
	before := p.Before
	if p.Window > 0 { // one that counts more than the window holds counts otherwise
		before = min(before, p.Window)
	}
	rest := float64(p.Kept+tokens) / float64(max(p.Kept+p.Removed, 1))
	return before - int(float64(before)*rest)
}

// Tokens estimates the length of a text.
func Tokens(text string) int { return TokensOf(len(text)) + tokensPerItem }

// TokensOf estimates the tokens of a text of so many bytes.
func TokensOf(bytes int) int { return bytes / bytesPerToken }

// PlanCompaction says what is to be done to make room; for a summary in pieces, if
// it has to be.
func PlanCompaction(log Log, target Target, system string, specs []model.ToolSpec, summary bool) Plan {
	w := conversationAt(log, target, system, specs).walk
	return w.plan(summary)
}

// begun is a conversation that has come to the end of the log.
func conversationAt(log Log, target Target, system string, specs []model.ToolSpec) *Conversation {
	c := &Conversation{}
	k := key{target, system, specs}
	k.target.Effort, k.target.CacheKey = "", ""
	c.begin(k, log)
	c.walk.follow(log)
	if t := log.running; t != nil {
		c.walk.measure(t)
		c.walk.reportToolUse(t)
		c.walk.applyChanges(t)
	}
	return c
}

func (w *walk) plan(summary bool) Plan {
	window := w.window
	if window == 0 {
		window = defaultWindow
	}
	p := Plan{
		Before: w.counted(), Window: w.window, Fixed: w.fixed(), Inputs: w.inputTokens, Omit: w.refused.omitTexts, First: w.refused.firstTurn,
		Digest: min(maxDigest, window/8), Summary: min(maxSummary, window/12),
	}
	factor := 1.0 // tokens as the provider counts them, for one of ours
	if w.usage.input > 0 && !w.windowRefused {
		factor = float64(w.usage.input) / float64(max(w.usage.of, 1))
	}
	cut := w.tail(min(maxTail, window/5))
	if end := w.piece(int(float64(window*3/4) / max(factor, 1))); summary {
		p.Piece, p.Part = end < cut, end < len(w.entries)
		cut = min(cut, end)
	}
	p.Kept = p.Fixed
	for n, e := range w.entries {
		if n < cut && !w.isProtected(e) || e.kind == compacted {
			p.Removed += e.tokens()
		} else {
			p.Kept += e.tokens()
		}
	}
	if cut < len(w.entries) {
		e := w.entries[cut]
		p.From = &event.Place{Turn: w.log.turns[e.turn].ID, Attempts: e.attempts}
	}
	if cut == 0 || cut == 1 && w.entries[0].kind == compacted {
		p.Removed = 0
	}
	return p
}

// groupStart reports whether the history may be cut before the entry: never between
// a call and its output, or between reasoning and what belongs to it.
func (w *walk) groupStart(n int) bool {
	if n == 0 || n == len(w.entries) {
		return true
	}
	a, b := w.entries[n-1], w.entries[n]
	return a.turn != b.turn || a.attempts != b.attempts
}

// tail returns where the entries begin that stay, with about so many tokens. What
// the model has not seen yet is among them: what its last calls gave.
func (w *walk) tail(tokens int) int {
	cut, total, last := len(w.entries), 0, 0
	for _, e := range slices.Backward(w.entries) {
		if e.response > 0 {
			if w.log.running != nil && e.turn == w.at {
				last = e.response
			}
			break
		}
	}
	for n := len(w.entries) - 1; n >= 0; n-- {
		e := w.entries[n]
		if e.kind == compacted {
			break
		}
		if !w.isProtected(e) { // which stays in any case
			total += e.tokens()
		}
		if total > tokens && (last == 0 || e.response != last) {
			break
		}
		if w.groupStart(n) {
			cut = n
		}
	}
	return cut
}

// piece returns how many of the entries fit a request with so many tokens; 0 if
// not even the first do.
func (w *walk) piece(tokens int) int {
	cut, total := 0, w.fixed()
	for n := range w.entries {
		if w.groupStart(n) {
			cut = n
		}
		if total += w.entries[n].tokens(); total > tokens {
			return cut
		}
	}
	return len(w.entries)
}

// SummaryRequest asks for the summary that the plan needs: the request extends the
// one before, so that the provider has most of it in its cache.
func SummaryRequest(log Log, target Target, system string, specs []model.ToolSpec, p Plan, instruction string) BuiltRequest {
	c := conversationAt(log, target, system, specs)
	w := c.walk
	request := model.Request{Model: target.Model, System: system, Tools: specs, Effort: target.Effort, CacheKey: target.CacheKey, NoCalls: true}
	end := log.point(p.From)
	for _, e := range w.entries {
		if p.Part && end.reaches(e) {
			break
		}
		request.Input = append(request.Input, e.Item)
	}
	request.Input = append(request.Input, model.Item{Role: model.User, Text: instruction})
	b := BuiltRequest{Request: request, RequestStats: w.stats(), Changes: c.changes, Basis: c.basis}
	b.Tokens, b.Summary = estimate(b.Request), true
	b.Answer = answer(w.window, w.maxOutput(), b.Tokens)
	b.MaxTokens = b.Answer
	return b
}
