package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// walk collects the conversation. It only moves forward: existing entries stay unchanged when
// the log grows, except after a prefix change.
type walk struct {
	target        Target
	log           Log
	refused       *refusals
	entries       []entry
	ids           map[string]bool // call ids in use
	window        int             // of the target, as known at this position
	windowRefused bool            // the window comes from a refusal
	schema        json.RawMessage // of the requested answer, at this position
	prefix        int             // tokens of the instructions and the tools

	// The position: the turn, and the numbers of its items, attempts and changes that were read.
	at, items, attempts, changes int

	// responsesFrom is the start of the responses that are sent. Earlier ones were compacted and
	// are not read, so that a long session costs no more than a short one.
	responsesFrom point

	attempt     *event.Attempt // the attempt of the current response
	turnEntered bool           // the turn's inputs were added
	responses   int            // so far
	trimmed     int            // shortened entries
	rewrites    int            // how often existing entries changed
	usage       usage
	nearlyFull  bool // before the last request was shortened

	total          int   // tokens of the entries
	inputTokens    int   // tokens of the turn's inputs
	documentTokens int   // tokens of the entries' documents
	attached       bool  // the turn's inputs have documents, or their text
	parts          Parts // of the entries, except earlierTurns
	first          int   // the first turn with an entry, -1 without one
}

// entry is an item of the conversation with its origin.
type entry struct {
	model.Item
	turn     int
	attempts int    // attempts of the turn before it
	response int    // number of its response, from 1; 0 for none
	input    string // id of its input, "" for none
	kind     entryKind
	// documents are the item's documents with their text, and pageTokens the tokens of a page.
	documents  []event.Document
	pageTokens int
	attached   bool // PDFs were attached to the input
}

type entryKind uint8

const (
	plain     entryKind = iota
	gap                 // replaces omitted entries
	dropped             // omitted for room; a gap replaces it
	lost                // omitted without a note
	prompt              // asks the model to continue
	compacted           // replaces compacted entries
)

func newWalk(target Target, refused *refusals, prefix int) *walk {
	return &walk{
		target:  target,
		refused: refused,
		ids:     map[string]bool{},
		window:  target.Window,
		prefix:  prefix,
		first:   -1,
	}
}

func (w *walk) add(i model.Item, input string) {
	w.put(entry{Item: i, turn: w.at, input: input})
}

// respond adds the items of a response.
func (w *walk) respond(items []model.Item) {
	w.responses++
	for _, i := range items {
		w.put(entry{Item: i, turn: w.at, response: w.responses})
	}
}

func (w *walk) put(e entry) {
	e.attempts = w.attempts
	w.entries = append(w.entries, e)
	w.count(&e)
}

// count adds the entry to the sums.
func (w *walk) count(e *entry) {
	n := e.tokens()
	w.total += n
	if w.isProtected(*e) {
		w.inputTokens += n
		w.attached = w.attached || e.attached
	}
	w.documentTokens += pagesTokens(e.Documents, e.pageTokens)
	w.parts |= e.parts()
	if w.first < 0 && e.Text != textEarlier {
		w.first = e.turn
	}
}

// recount computes the sums after entries have changed.
func (w *walk) recount() {
	w.rewrites++
	w.usage = usage{} // it belonged to the previous entries
	w.total, w.inputTokens, w.documentTokens, w.attached, w.parts, w.first = 0, 0, 0, false, 0, -1
	for n := range w.entries {
		w.count(&w.entries[n])
	}
}

// fixed are the tokens outside of the conversation.
func (w *walk) fixed() int { return w.prefix + len(w.schema)/bytesPerToken }

// follow reads to the end of the log, and continues there when the log has grown.
func (w *walk) follow(log Log) {
	w.log = log
	for len(log.turns) > 0 {
		t := log.turn(w.at)
		if !w.turnEntered {
			w.enter(t)
		}
		if w.at >= w.refused.firstTurn {
			w.steps(log, t)
		}
		if w.at == len(log.turns)-1 && t.Cause == nil {
			return
		}
		w.leave(t, log.jobsAfter(w.at))
		if w.at == len(log.turns)-1 {
			return
		}
		w.at++
		w.turnEntered, w.items, w.attempts, w.changes, w.inputTokens, w.attached = false, 0, 0, 0, 0, false
	}
}

// enter begins a turn.
func (w *walk) enter(t *event.Turn) {
	w.turnEntered = true
	w.schema = nil
	if n := len(t.Inputs); n > 0 && !t.Inputs[n-1].Kept() {
		w.schema = t.Inputs[n-1].Schema
	}
	switch {
	case w.at < w.refused.firstTurn:
		return
	case w.at > 0 && w.at == w.refused.firstTurn:
		w.user(textEarlier)
	}
	w.inputs(t.Inputs)
}

// steps adds the items and attempts of a turn in the order of their start.
func (w *walk) steps(log Log, t *event.Turn) {
	for {
		if w.items < len(t.Items) {
			i := t.Items[w.items]
			switch {
			case i.Attempt == "" && i.Attempts <= w.attempts:
				if i.Type() == event.ToolCall {
					w.command(log, t, i)
				} else {
					w.user(i.Content().Text)
				}
				w.items++
				continue
			case w.attempts > 0 && i.Attempt == t.Attempts[w.attempts-1].ID:
				response := t.Items[w.items:responseEnd(t, w.items)]
				w.items += len(response)
				if t.Attempts[w.attempts-1].Start.Purpose != "" { // a summary is not part of the conversation
					continue
				}
				switch {
				case w.at < w.responsesFrom.turn || w.at == w.responsesFrom.turn && w.attempts < w.responsesFrom.attempts:
					w.responses++
				case w.refused.omitResponses[i.Attempt]:
					w.noteHidden()
				default:
					w.response(log, response, t.Attempts[w.attempts-1])
				}
				continue
			}
		}
		if w.attempts == len(t.Attempts) {
			return
		}
		w.measure(t)
		if a := t.Attempts[w.attempts]; a.Start.Purpose == "" {
			w.begin(t, a.Inputs)
			w.endWithUser()
			w.usage.sent = w.tokens()
		}
		w.attempts++
	}
}

// begin adds the items that precede the turn's next attempt.
func (w *walk) begin(t *event.Turn, joining []event.Input) {
	w.reportToolUse(t)
	w.addJoining(joining)
	w.applyChanges(t)
}

// leave finishes a turn that has ended.
func (w *walk) leave(t *event.Turn, jobs []*event.Job) {
	if w.at < w.refused.firstTurn {
		w.attempts = len(t.Attempts)
		w.applyChanges(t)
		return
	}
	w.measure(t)
	w.reportToolUse(t)
	w.applyChanges(t)
	w.turnEnd(t, jobs)
}

// addJoining adds inputs that join the turn.
func (w *walk) addJoining(inputs []event.Input) {
	for _, in := range inputs {
		if len(in.Schema) > 0 {
			w.schema = in.Schema
		}
	}
	w.inputs(inputs)
}

// noteHidden adds one note about omitted responses.
func (w *walk) noteHidden() {
	if n := len(w.entries); n == 0 || w.entries[n-1].Text != textHidden {
		w.user(textHidden)
	}
}

// applyChanges applies the changes before the turn's next attempt.
func (w *walk) applyChanges(t *event.Turn) {
	for ; w.changes < len(t.Changes) && t.Changes[w.changes].Attempts <= w.attempts; w.changes++ {
		c := t.Changes[w.changes]
		if c.Change == event.ChangeCompacted {
			w.compact(c)
			continue
		}
		if !w.target.concerns(c) {
			continue
		}
		switch c.Change {
		case event.ChangeWindow:
			w.lowerWindow(c.Tokens)
		case event.ChangeShortened:
			w.shorten(c.Tokens)
		}
	}
}

// responseEnd returns the index after the attempt's last item: no note separates the items of
// one response.
func responseEnd(t *event.Turn, n int) int {
	attempt := t.Items[n].Attempt
	for n < len(t.Items) && t.Items[n].Attempt == attempt {
		n++
	}
	return n
}

// reportToolUse adds a note about a call of the last attempt that its provider rejected.
func (w *walk) reportToolUse(t *event.Turn) {
	if w.attempts == 0 {
		return
	}
	a := t.Attempts[w.attempts-1]
	if a.Start.Purpose == "" && a.End != nil && a.End.Failure != nil && a.End.Failure.Kind == string(model.ErrToolUse) {
		w.user(
			fmt.Sprintf(
				"[Your last answer was not passed on: %s. Call one of the tools, with arguments that its schema allows.]",
				cut(a.End.Failure.Message, 500),
			),
		)
	}
}

func (w *walk) inputs(inputs []event.Input) {
	for _, in := range inputs {
		if in.RunsCall() || in.Kept() { // calls have entries of their own, and a hook refused kept inputs
			continue
		}
		if w.refused.omitTexts[in.ID] {
			w.add(model.Item{Role: model.User, Text: textUnsaid}, in.ID)
			continue
		}
		item := model.Item{Role: model.User, Text: in.Text, Images: in.Images}
		if why := w.imagesOmitted(in); why != "" {
			item.Images = nil
			item.Text = appendLine(item.Text, noImages(in.Images, why))
		}
		e := entry{turn: w.at, input: in.ID, pageTokens: w.target.pageTokens(), attached: len(in.Documents) > 0}
		e.documents = w.attach(&item, in)
		if !isBlank(item.Text) || len(item.Images) > 0 || len(item.Documents) > 0 {
			e.Item = item
			w.put(e)
		}
	}
}

// command adds a command of the user, or a held call that the user approved. Providers do not
// know the call, so that it becomes a user message with the id of its input.
func (w *walk) command(log Log, t *event.Turn, i *event.Item) {
	id := i.Content().CallID
	isHeld := func(in event.Input) bool { return in.ID == id && in.HeldCall != nil }
	text := textUnsaid
	switch {
	case w.refused.omitTexts[id]:
	case slices.ContainsFunc(t.Inputs, isHeld):
		text = heldText(log.jobs, i)
	default:
		text = commandText(log.jobs, i)
	}
	w.add(model.Item{Role: model.User, Text: text}, id)
}

// imagesOmitted returns the reason why the model does not receive the input's images, "" if
// there is none.
func (w *walk) imagesOmitted(in event.Input) string {
	switch {
	case len(in.Images) == 0:
	case w.target.NoImages:
		return "the model cannot see images"
	case w.refused.omitImages[in.ID]:
		return "the provider refused it"
	}
	return ""
}

func (w *walk) user(text string) {
	if !isBlank(text) {
		w.add(model.Item{Role: model.User, Text: text}, "")
	}
}

// endWithUser makes sure that the conversation ends with a user message, which some providers
// require. The added entry stays, as in the sent request (C21).
func (w *walk) endWithUser() {
	n := len(w.entries)
	if n == 0 || w.entries[n-1].Role == model.User || w.entries[n-1].Role == model.Output {
		return
	}
	w.put(entry{Item: model.Item{Role: model.User, Text: textContinue}, turn: w.at, kind: prompt})
}

// stats returns the figures of the request.
func (w *walk) stats() RequestStats {
	stats := RequestStats{
		Tokens:     w.tokens(),
		Minimum:    w.minimum(),
		Fixed:      w.fixed(),
		Documents:  w.documentTokens,
		Attached:   w.attached,
		Window:     w.window,
		Parts:      w.parts,
		Counted:    w.counted(),
		NearlyFull: w.nearlyFull,
	}
	if w.first >= 0 && w.first < w.at {
		stats.Parts |= earlierTurns
	}
	suspects := w.refused.refusedInputs()
	if len(suspects) == 0 {
		return stats
	}
	for _, e := range w.entries {
		if e.turn < w.at && e.Text != textUnsaid && slices.Contains(suspects, e.input) {
			stats.Parts |= refusedEarlier
		}
	}
	return stats
}

// parts returns the parts of the entry that can be left out.
func (e *entry) parts() (p Parts) {
	switch {
	case e.Signature != nil, e.Role == model.Reasoning, e.ID != "":
		p |= signatures
	case e.Role == model.User && len(e.Images) > 0:
		p |= images
	}
	if e.Role == model.User && len(e.Documents) > 0 {
		p |= documents
	}
	if e.response > 0 {
		p |= answers
		if e.Role == model.Call && e.Arguments != foldedArguments ||
			e.Role == model.Output && !strings.HasPrefix(e.Text, textNoOutput) {
			p |= tools
		}
	}
	return p
}
