package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

const (
	// minReserve is the part of a large window that stays free, in tokens.
	minReserve = 16_000
	// maxTail bounds the tokens that compaction keeps unchanged; maxDigest and maxSummary bound
	// their replacement of the rest. A small window has less of each.
	maxTail, maxDigest, maxSummary = 20_000, 12_000, 8_000
)

// usage is the provider's count of tokens.
type usage struct {
	sent  int // tokens of the last request, by our estimate
	input int // of the last answered request, by the provider; 0 if unknown
	of    int // of the same request, by our estimate
}

// minCount is the divisor of our own estimate below which a provider's count is ignored: some
// providers count only uncached tokens.
const minCount = 4

// measure records the provider's count for the turn's last attempt.
func (w *walk) measure(t *event.Turn) {
	if w.attempts == 0 {
		return
	}
	a := t.Attempts[w.attempts-1]
	if a.Start.Purpose != "" || a.End == nil || !w.target.made(a) || w.usage.sent == 0 {
		return
	}
	if input := a.End.Usage.Input; input > int64(w.usage.sent/minCount) &&
		input < 1<<40 { // older logs can have any number
		w.usage.input, w.usage.of = int(input), w.usage.sent
	}
}

// counted is the length of the request: the provider's last count and an estimate of the new
// part. If the window is known only from a refusal, it is our estimate alone.
func (w *walk) counted() int {
	if w.usage.input == 0 || w.windowRefused {
		return w.tokens()
	}
	return w.usage.input + w.tokens() - w.usage.of
}

// threshold is the number of tokens at which the window counts as full; 0 if unknown.
func (w *walk) threshold() int {
	if w.window == 0 {
		return 0
	}
	return min(w.room(), w.window-min(minReserve, w.window/4))
}

// compact replaces the earlier history by the summary and the digest.
func (w *walk) compact(c event.Epoch) {
	if w.at < w.refused.firstTurn {
		return // the target receives none of it
	}
	id := compactionID(w.log.turn(w.at).ID, w.changes)
	text := compactedText(c.HistoryChanged)
	if w.refused.omitTexts[id] {
		text = textUncompacted
	}
	out := []entry{
		{Item: model.Item{Role: model.User, Text: text}, turn: w.at, attempts: w.attempts, input: id, kind: compacted},
	}
	cut := w.log.point(c.From)
	for _, e := range w.entries {
		if e.kind != compacted && (w.isProtected(e) || cut.reaches(e)) {
			out = append(out, e)
		}
	}
	w.entries = out
	w.recount()
}

// compactionID identifies the text of a compaction, as an input's id does.
func compactionID(turn string, n int) string { return fmt.Sprintf("%s:%d", turn, n) }

// point is a position among the entries.
type point struct {
	turn, attempts int
	end            bool // after all entries
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

// reaches reports whether the entry is at the point or after it.
func (p point) reaches(e entry) bool {
	return !p.end && (e.turn > p.turn || e.turn == p.turn && e.attempts >= p.attempts)
}

// compacted returns the start of the history that the last compaction kept. Responses before it
// are no longer sent. Without a compaction it is the start of the log.
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
	if c.Digest != "" {
		fmt.Fprintf(&b, "\n\n<digest>\n%s\n</digest>", strings.TrimSpace(c.Digest))
	}
	return b.String()
}

// Plan describes a compaction.
type Plan struct {
	// From is the start of the part that stays unchanged; nil if no part does.
	From *event.Place
	// Before is the request's length in tokens, and Kept the length of the unchanged part.
	Before, Kept int
	// Removed is the length of the replaced part, 0 if there is nothing to compact.
	Removed int
	// Window is the model's window, if it is known. Fixed are the tokens of the instructions and
	// the tools, Inputs the tokens of the turn's own inputs.
	Window, Fixed, Inputs int
	// Digest and Summary bound the tokens of each text.
	Digest, Summary int
	// Piece reports that one request for a summary cannot hold the whole replaced part; Part,
	// that the request ends at From, because the whole history does not fit.
	Piece, Part bool
	// Omit are the ids of inputs that must not be sent again: the provider refused them.
	Omit map[string]bool
	// First is the first turn that the digest may mention.
	First int
}

// Freed returns the tokens that become free if so many replace the removed part, by the
// provider's count.
func (p Plan) Freed(tokens int) int {
	before := p.Before
	if p.Window > 0 { // a count above the window is of another kind
		before = min(before, p.Window)
	}
	rest := float64(p.Kept+tokens) / float64(max(p.Kept+p.Removed, 1))
	return before - int(float64(before)*rest)
}

// Tokens estimates the length of a text.
func Tokens(text string) int { return TokensOf(len(text)) + tokensPerItem }

// TokensOf estimates the tokens of a text by its length in bytes.
func TokensOf(bytes int) int { return bytes / bytesPerToken }

// PlanCompaction plans a compaction; with summary, in pieces if necessary.
func PlanCompaction(log Log, target Target, system string, specs []model.ToolSpec, summary bool) Plan {
	w := conversationAt(log, target, system, specs).walk
	return w.plan(summary)
}

// conversationAt returns a conversation that has read the whole log.
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
		Before:  w.counted(),
		Window:  w.window,
		Fixed:   w.fixed(),
		Inputs:  w.inputTokens,
		Omit:    w.refused.omitTexts,
		First:   w.refused.firstTurn,
		Digest:  min(maxDigest, window/8),
		Summary: min(maxSummary, window/12),
	}
	factor := 1.0 // the provider's tokens for one of ours
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

// groupStart reports whether the history can be cut before the entry: never between a call and
// its output, or between reasoning and its item.
func (w *walk) groupStart(n int) bool {
	if n == 0 || n == len(w.entries) {
		return true
	}
	a, b := w.entries[n-1], w.entries[n]
	return a.turn != b.turn || a.attempts != b.attempts
}

// tail returns the index of the first entry that stays, with about so many tokens after it.
// Outputs that the model has not received yet always stay.
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
		if !w.isProtected(e) { // protected entries stay in any case
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

// piece returns how many of the entries fit a request with so many tokens; 0 if the first group
// does not fit.
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

// SummaryRequest builds the request for a plan's summary. It extends the previous request, so
// that most of it is in the provider's cache.
func SummaryRequest(
	log Log, target Target, system string, specs []model.ToolSpec, p Plan, instruction string,
) BuiltRequest {
	c := conversationAt(log, target, system, specs)
	w := c.walk
	request := model.Request{
		Model:    target.Model,
		System:   system,
		Tools:    specs,
		Effort:   target.Effort,
		CacheKey: target.CacheKey,
		NoCalls:  true,
	}
	end := log.point(p.From)
	for _, e := range w.entries {
		if p.Part && end.reaches(e) {
			break
		}
		request.Input = append(request.Input, e.Item)
	}
	request.Input = append(request.Input, model.Item{Role: model.User, Text: instruction})
	b := BuiltRequest{Request: request, RequestStats: w.stats(), Changes: c.changes, Basis: c.basis}
	b.Tokens, b.Summary = estimate(b.Request, target.pageTokens()), true
	b.Answer = answer(w.window, w.maxOutput(), b.Tokens)
	b.MaxTokens = b.Answer
	return b
}
