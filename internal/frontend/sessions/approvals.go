package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// maxHeldTitle is the number of characters of a held call's title that the table shows.
const maxHeldTitle = 60

// HeldLine is a held call as JSON.
type HeldLine struct {
	ID        string        `json:"id"`
	Session   string        `json:"session"`
	State     string        `json:"state"` // held, approved, denied
	Tool      string        `json:"tool"`
	Title     string        `json:"title,omitempty"`
	Why       string        `json:"why,omitempty"`
	Dir       string        `json:"dir"`
	Arguments string        `json:"arguments"`
	Text      string        `json:"text"`
	At        time.Time     `json:"asked"`
	Reason    event.Reason  `json:"reason"`
	Turn      string        `json:"turn"`
	Item      string        `json:"item"`
	Verdict   event.Verdict `json:"verdict,omitempty"`
	By        string        `json:"by,omitempty"`
	Input     string        `json:"input,omitempty"`
	// Run is the item of the call that the approval began, Started reports whether it ran, and
	// Outcome describes its end, by the table of terms. Next is the held call that followed, since
	// settle asked again.
	Run     string `json:"run,omitempty"`
	Started bool   `json:"started,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Next    string `json:"next,omitempty"`
}

func heldState(h store.HeldCall) string {
	if h.Verdict == nil {
		return "held"
	}
	return string(h.Verdict.HeldCall.Verdict)
}

// HeldLineOf returns the call as JSON prints it.
func HeldLineOf(h store.HeldCall) HeldLine {
	c, a := h.Item.Content(), h.Approval
	line := HeldLine{
		ID: h.ID, Session: h.Session, State: heldState(h), Tool: c.Name, Title: a.Title, Why: a.Why, Dir: h.Turn.Dir,
		Arguments: c.Arguments, Text: a.Text, At: a.At.UTC(), Reason: h.Turn.Cause.Reason, Turn: h.Turn.ID,
		Item: h.Item.ID,
	}
	if v := h.Verdict; v != nil {
		line.Verdict, line.By, line.Input = v.HeldCall.Verdict, v.By, v.ID
	}
	if i := h.Run; i != nil {
		line.Run, line.Started, line.Outcome, line.Next = i.ID, i.Started, transcript.Ending(i), h.Next
	}
	return line
}

// openHeld returns the calls that wait for a verdict, or for the input that runs them.
func openHeld(dataDir string) (out []store.HeldCall, err error) {
	list, err := store.HeldCalls(dataDir)
	for _, h := range list {
		if h.Verdict == nil || h.Runs() {
			out = append(out, h)
		}
	}
	return out, err
}

// HeldCalls writes a table of the held calls.
func HeldCalls(to io.Writer, dataDir string) error {
	list, err := openHeld(dataDir)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, h := range list {
		title := transcript.HeldTitle(h.HeldCall)
		rows = append(rows, []string{
			h.Short, heldState(h), h.Session, h.Approval.At.Local().Format(time.DateTime),
			terminal.Short(h.Approval.Tool+": "+title, maxHeldTitle),
		})
	}
	return listing.Table(to, rows)
}

// HeldCallsJSON writes the held calls as JSON, one a line.
func HeldCallsJSON(to io.Writer, dataDir string) error {
	list, err := openHeld(dataDir)
	var lines []HeldLine
	for _, h := range list {
		lines = append(lines, HeldLineOf(h))
	}
	return errors.Join(err, listing.JSON(to, lines))
}

// ShowHeldCall writes the whole question of a held call, and the outcome of the call.
func ShowHeldCall(to io.Writer, h store.HeldCall) error {
	var b strings.Builder
	fmt.Fprintf(&b, "held call %s\nsession %s, turn %s\nasked %s in %s\n",
		h.ID, h.Session, h.Turn.ID, local(h.Approval.At), terminal.Text(h.Turn.Dir))
	fmt.Fprintf(&b, "held because %s\n", h.Turn.Cause.Error())
	if why := asker.Reason(h.Approval.ApprovalRequested); why != "" {
		fmt.Fprintf(&b, "%s\n", terminal.Text(why))
	}
	fmt.Fprintf(&b, "\n%s\n", terminal.Text(h.Approval.Text))
	switch v := h.Lost; {
	case h.Verdict != nil:
		fmt.Fprintf(&b, "\n%s\n", heldAnswer(h))
	case v != nil:
		fmt.Fprintf(&b, "\nit was %s before by %s, but the turn for it ended before the call began; "+
			"answer it again\n", v.HeldCall.Verdict, terminal.Text(v.By))
	}
	_, err := io.WriteString(to, asker.Fold(b.String(), terminal.Columns(to)))
	return err
}

// ShowHeldCallJSON writes a held call as one JSON object.
func ShowHeldCallJSON(to io.Writer, h store.HeldCall) error {
	return listing.JSON(to, []HeldLine{HeldLineOf(h)})
}

// heldAnswer returns the verdict that counts, and the outcome of the call.
func heldAnswer(h store.HeldCall) string {
	text := fmt.Sprintf("it was %s before by %s", h.Verdict.HeldCall.Verdict, terminal.Text(h.Verdict.By))
	if h.Runs() {
		return text + fmt.Sprintf(
			", and the call has not begun; run it with: settle approvals approve %s", h.Short,
		)
	}
	if h.Verdict.HeldCall.Verdict == event.Approved {
		text += ", and " + became(h)
	}
	return text
}

// became returns the outcome of an approved call.
func became(h store.HeldCall) string {
	i := h.Run
	switch {
	case i == nil:
		return "the call waits for the end of a turn"
	case i.Status == event.ItemOpen && i.Started:
		return "the call runs"
	case i.Status == event.ItemOpen:
		return "the call has not begun yet"
	case i.Started:
		return "the call ran: " + transcript.Ending(i)
	case h.Next != "":
		return "settle asked again, since the call had changed; it is held as " + h.NextShort
	}
	return "the call did not run: " + transcript.Unstarted(i)
}

// AnsweredBefore is the error of a verdict about a call that has one, or nil.
func AnsweredBefore(h store.HeldCall) error {
	if h.Verdict == nil {
		return nil
	}
	return fmt.Errorf("cannot answer held call %s: %s; this answer runs nothing", h.Short, heldAnswer(h))
}

// answeredSince returns the error of a verdict, which names the verdict that another process gave
// since h was read.
func answeredSince(dataDir string, h store.HeldCall, err error) error {
	if errors.As(err, new(*settle.AnsweredError)) {
		if now, findErr := store.FindHeldCall(dataDir, h.ID); findErr == nil && now.Verdict != nil {
			return AnsweredBefore(now)
		}
	}
	return err
}

// AnswerInHost gives the verdict to the process that has the session open, and reports whether
// there is one. flags are the names of given flags that only a process of its own can use.
func AnswerInHost(
	ctx context.Context, to io.Writer, dataDir string, h store.HeldCall, a settle.Answer, flags ...string,
) (bool, error) {
	s, err := attach.Open(ctx, dataDir, h.Session)
	if errors.Is(err, attach.ErrNotHosted) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	defer func() { _ = s.Close() }() // the host has answered, or never will
	if len(flags) > 0 {
		return true, fmt.Errorf(
			"cannot answer held call %s with --%s: %s has the session open, with its own settings; leave the flags out",
			h.Short, strings.Join(flags, ", --"), s.Host(),
		)
	}
	if err := s.Answer(ctx, a); err != nil {
		err = fmt.Errorf("cannot answer held call %s in %s: %w", h.Short, s.Host(), err)
		return true, answeredSince(dataDir, h, err)
	}
	_, err = fmt.Fprintf(to, "%s %s: %s has the session open\n", a.Verdict, h.Short, s.Host())
	return true, err
}

// Deny records the denial of a held call in a session that no process has open. It calls no
// model: the model of the session receives the denial with the next input.
func Deny(ctx context.Context, to io.Writer, dataDir, version string, h store.HeldCall, message string) (err error) {
	host, err := settle.Open(ctx, settle.Config{DataDir: dataDir, Frontend: event.FrontendApprovals, Version: version})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, host.Close(closing))
	}()
	s, err := host.Session(ctx, h.Session, settle.SessionConfig{
		Model: model.Config{Provider: script.New(), Name: "none"}, WorkDir: h.Turn.Dir,
		Permission: h.Turn.Start.Permission, MustExist: true,
	})
	if err != nil {
		return err
	}
	a := settle.Answer{Approval: h.ID, Verdict: event.Denied, Message: message, By: "user"}
	if err := s.Answer(ctx, a); err != nil {
		return answeredSince(dataDir, h, fmt.Errorf("cannot answer held call %s: %w", h.Short, err))
	}
	_, err = fmt.Fprintf(to, "denied %s; the model receives this with the session's next input\n", h.Short)
	return err
}
