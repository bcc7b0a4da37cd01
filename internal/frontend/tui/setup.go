package tui

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/client/setup"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

// setupForm is a [setup.Asker] that draws menus. Answered questions become rows of the
// scrollback. Its methods are called by one goroutine.
type setupForm struct {
	out     io.Writer
	screen  *terminal.Screen
	frames  bytes.Buffer
	rows    []terminal.Line // committed, for the next frame
	events  chan terminal.Event
	resized <-chan struct{}
	size    func() (width, height int)
}

// Setup asks the person for a model on the terminal of the options; it uses the terminal until
// it returns. The error is [setup.ErrLeft] if the person leaves.
func Setup(ctx context.Context, o Options, s setup.Setup) error {
	width, height := o.Terminal.Size()
	f := &setupForm{out: o.Terminal, events: make(chan terminal.Event), resized: o.Resized, size: o.Terminal.Size}
	f.screen = terminal.NewScreen(&f.frames, o.Palette, o.Reflow, width, height)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	read := func() { f.read(reading, o.Terminal) }
	go scope.Shield(func(error) {}, read)() // ends with reading; a panic ends the events, and so the setup
	s.Asker = f
	err := s.Run(ctx)
	_ = f.screen.Leave(f.rows) // it is memory
	f.flush()
	return err
}

func (f *setupForm) read(ctx context.Context, from io.Reader) {
	defer close(f.events)
	terminal.Read(from, ctx.Done(), func(events []terminal.Event) {
		for _, e := range events {
			select {
			case f.events <- e:
			case <-ctx.Done():
			}
		}
	})
}

func (f *setupForm) flush() {
	_, _ = f.out.Write(f.frames.Bytes()) // a terminal that is gone ends the reading
	f.frames.Reset()
}

// Say implements [setup.Asker].
func (f *setupForm) Say(lines ...string) {
	width, _ := f.screen.Size()
	for _, line := range lines {
		style := terminal.Style{}
		switch {
		case strings.HasPrefix(line, "✓"):
			style = success()
		case strings.HasPrefix(line, "✗"):
			style = failure()
		case strings.HasPrefix(line, "–"):
			style = faint()
		}
		f.rows = append(f.rows, terminal.Wrap(terminal.Plain(line, style), width, terminal.Indent{Rest: spaces(2)})...)
	}
}

// next shows a frame, and returns the next key or paste. It returns no event for a resize.
func (f *setupForm) next(ctx context.Context, frame terminal.Frame, done <-chan struct{}) (terminal.Event, error) {
	_ = f.screen.Draw(f.rows, frame) // it is memory
	f.rows = nil
	f.flush()
	select {
	case e, more := <-f.events:
		if !more {
			return nil, setup.ErrLeft
		}
		if k, ok := e.(terminal.Key); ok {
			switch k.Name {
			case "esc":
				return nil, setup.ErrBack
			case "ctrl+c", "ctrl+d":
				return nil, setup.ErrLeft
			}
		}
		return e, nil
	case <-f.resized:
		f.screen.Resize(f.size())
		return nil, nil
	case <-done:
		return nil, nil
	case <-ctx.Done():
		return nil, setup.ErrLeft
	}
}

// Ask implements [setup.Asker].
func (f *setupForm) Ask(ctx context.Context, q setup.Question) (string, error) {
	if len(q.Choices) == 0 {
		return f.enter(ctx, q)
	}
	m := &menu{title: q.Title, escape: "goes back"}
	if q.First {
		m.escape = "leaves"
	}
	for _, c := range q.Choices {
		m.all = append(m.all, choice{id: c.ID, label: c.Label, detail: c.Detail, group: q.Columns})
	}
	m.selectID(cmp.Or(q.Selected, q.Choices[0].ID))
	notShown := false // letters were typed, and are not shown
	for {
		width, _ := f.screen.Size()
		row, x := m.line(width)
		rows := append(m.rows(width, max(f.screen.Live()-3, 1)), row)
		if notShown {
			const words = "Choose with the arrows and Enter, or paste the key. Typed letters are not shown."
			note := terminal.Wrap(terminal.Plain(words, warning()), width, terminal.Indent{})
			rows = slices.Insert(rows, len(rows)-1, note...)
		}
		e, err := f.next(ctx, terminal.Frame{Rows: rows, X: x, Y: len(rows) - 1}, nil)
		if err != nil {
			return "", err
		}
		paste, pasted := e.(terminal.Paste)
		switch k, _ := e.(terminal.Key); {
		case pasted && q.Secret && strings.TrimSpace(paste.Text) != "":
			text := strings.TrimSpace(paste.Text)
			f.Say(q.Title + " " + hiddenText(text) + " pasted")
			return text, nil
		case pasted && !q.Secret:
			m.words += terminal.OneLine(strings.TrimSpace(paste.Text))
			m.narrow()
		case q.Secret && k.Text != "": // it may be the first letter of a key
			notShown = true
		case (k.Name == "enter" || k.Name == "tab") && len(m.list.choices) > 0:
			chosen := m.list.selected()
			f.Say(asLabel(q.Title) + chosen.label)
			return chosen.id, nil
		default:
			m.key(k)
		}
	}
}

// asLabel is a title before its answer.
func asLabel(title string) string {
	if strings.HasSuffix(title, "?") {
		return title + " "
	}
	return title + ": "
}

// enter takes a text. A hidden one is never drawn: the person sees how long it is.
func (f *setupForm) enter(ctx context.Context, q setup.Question) (string, error) {
	text := q.Selected
	for {
		shown := text
		if q.Hidden {
			shown = hiddenText(text)
		}
		width, _ := f.screen.Size()
		row := terminal.Line{{Text: q.Title + ": ", Style: bold()}, {Text: terminal.OneLine(shown)}}
		rows := terminal.Break(row, width, terminal.Indent{})
		note := terminal.Plain("Enter continues, Esc goes back, Ctrl-C leaves", faint())
		rows = append(rows, terminal.Clip(note, width))
		last := len(rows) - 2
		e, err := f.next(ctx, terminal.Frame{Rows: rows, X: rows[last].Width(), Y: last}, nil)
		if err != nil {
			return "", err
		}
		if paste, ok := e.(terminal.Paste); ok {
			text += strings.TrimSpace(paste.Text)
		}
		k, _ := e.(terminal.Key)
		switch k.Name {
		case "enter":
			f.Say(fmt.Sprintf("%s: %s", q.Title, shown))
			return text, nil
		case "backspace", "ctrl+h":
			parts := partsOf(text)
			text = joinParts(parts[:max(len(parts)-1, 0)])
		case "ctrl+u":
			text = ""
		default:
			text += k.Text
		}
	}
}

// hiddenText replaces a text that is not shown.
func hiddenText(text string) string {
	if text == "" {
		return ""
	}
	return terminal.Count(len([]rune(text)), "character")
}

// Wait implements [setup.Asker].
func (f *setupForm) Wait(ctx context.Context, what string, do func(context.Context)) (left error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var failed error
	go func() { // Wait waits for it
		defer close(done)
		failed = scope.Guard(func() error { do(ctx); return nil })
	}()
	for {
		width, _ := f.screen.Size()
		row := terminal.Clip(terminal.Plain(what+" … (Esc goes back, Ctrl-C leaves)", accent()), width)
		_, err := f.next(ctx, terminal.Frame{Rows: []terminal.Line{row}}, done)
		if err != nil {
			cancel()
			<-done // it ends with its context
			return err
		}
		select {
		case <-done:
			return failed
		default:
		}
	}
}

// maxNumber is the length of a text that can be a number of a choice, or a mistyped one.
const maxNumber = 4

// PlainSetup is a [setup.Asker] of lines: numbered choices, nothing is redrawn.
type PlainSetup struct {
	Out io.Writer
	// Line returns a line of the person; hidden means that it is not echoed. Its error ends the
	// setup.
	Line func(ctx context.Context, hidden bool) (string, error)
}

// Say implements [setup.Asker].
func (p PlainSetup) Say(lines ...string) {
	for _, line := range lines {
		for mark, words := range map[string]string{"✓ ": "Yes: ", "✗ ": "Failed: ", "– ": "No: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				line = words + rest
			}
		}
		_, _ = io.WriteString(p.Out, terminal.Text(line)+"\n") // a terminal that is gone ends the input
	}
}

// Ask implements [setup.Asker].
func (p PlainSetup) Ask(ctx context.Context, q setup.Question) (string, error) {
	for {
		lines := []string{q.Title}
		for n, c := range q.Choices {
			cells := choice{label: c.Label, detail: c.Detail, group: q.Columns}.namedCells()
			lines = append(lines, fmt.Sprintf("%d. %s", n+1, strings.TrimSpace(strings.Join(cells, "  "))))
		}
		p.Say(append(lines, "Type a number or a text. /back goes back, /quit leaves.")...)
		text, err := p.Line(ctx, q.Hidden || q.Secret)
		switch {
		case err != nil || text == "/quit":
			return "", setup.ErrLeft
		case text == "/back":
			return "", setup.ErrBack
		case len(q.Choices) == 0:
			return text, nil
		}
		for n, c := range q.Choices {
			if text == fmt.Sprint(n+1) || text == c.Label {
				return c.ID, nil
			}
		}
		if q.Secret && len(text) > maxNumber { // the key itself
			return text, nil
		}
	}
}

// Wait implements [setup.Asker].
func (p PlainSetup) Wait(ctx context.Context, what string, do func(context.Context)) error {
	p.Say(strings.ToUpper(what[:1]) + what[1:] + ".")
	do(ctx)
	if ctx.Err() != nil {
		return setup.ErrLeft
	}
	return nil
}
