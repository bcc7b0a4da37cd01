//go:build machine

package page_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
)

// digest is the summary of a log's state that unit/digest.mjs prints.
type digest struct {
	Refused  uint64       `json:"refused"` // number of the first event that could not follow
	Seq      uint64       `json:"seq"`
	Open     bool         `json:"open"`
	Waiting  []string     `json:"waiting"`
	Turns    []turnDigest `json:"turns"`
	Jobs     []string     `json:"jobs"`
	Children []string     `json:"children"`
}

type turnDigest struct {
	ID        string   `json:"id"`
	Ended     string   `json:"ended"`
	Outcome   string   `json:"outcome"`
	Interrupt string   `json:"interrupt"`
	Inputs    []string `json:"inputs"`
	Attempts  []string `json:"attempts"`
	Items     []string `json:"items"`
	Approvals []string `json:"approvals"`
}

// The page's fold is event.Fold: it comes to the same state from every log, and
// refuses the same event of every log that cannot be. The logs are the films of
// the browser tests and the example of the documentation; each of them cut off
// at each event, and ended there as an interrupt ends it, and as recovery does hours
// after a crash; and each of them with one event left out.
func TestFoldAgreesWithPackageEvent(t *testing.T) {
	logs := variations(t, append(films(t), example(t)))
	var in bytes.Buffer
	for _, log := range logs {
		raw, err := json.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(raw, '\n'))
	}
	out := lines(t, node(t, &in, "unit/digest.mjs"))
	if len(out) != len(logs) {
		t.Fatalf("%d answers for %d logs", len(out), len(logs))
	}
	refused := 0
	for n, log := range logs {
		var got digest
		if err := json.Unmarshal(out[n], &got); err != nil {
			t.Fatal(err)
		}
		if got.Refused > 0 {
			refused++
		}
		if diff := cmp.Diff(digestOf(log), got); diff != "" {
			t.Fatalf(
				"log %d of %d events, ending in %v (-event.Fold +fold.js):\n%s",
				n,
				len(log),
				log[len(log)-1].Kind(),
				diff,
			)
		}
	}
	t.Logf("%d logs, of which both refuse %d", len(logs), refused)
	if refused == 0 || refused == len(logs) {
		t.Error("the logs prove nothing: all or none of them are refused")
	}
}

func films(t *testing.T) (logs [][]event.Event) {
	for _, line := range lines(t, node(t, nil, "unit/films.mjs")) {
		logs = append(logs, decode(t, line))
	}
	return logs
}

func example(t *testing.T) []event.Event {
	raw, err := os.ReadFile("../../../../docs/reference/events.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)## Example.*?```jsonl\n(.*?)\n```").FindSubmatch(raw)
	if found == nil {
		t.Fatal("docs/reference/events.md has no example")
	}
	return decode(t, []byte("["+strings.ReplaceAll(string(found[1]), "\n", ",")+"]"))
}

func decode(t *testing.T, raw []byte) (log []event.Event) {
	t.Helper()
	if err := json.Unmarshal(raw, &log); err != nil {
		t.Fatal(err)
	}
	return log
}

// variations returns the logs and logs that are derived from them.
func variations(t *testing.T, logs [][]event.Event) (all [][]event.Event) {
	for _, log := range logs {
		if d := digestOf(log); d.Refused > 0 {
			t.Fatalf("a film that cannot be: event.Fold refuses event %d, %v", d.Refused, log[d.Refused-1].Kind())
		}
		all = append(all, log)
		for n := 1; n < len(log); n++ {
			all = append(all, ended(log[:n]), crashed(log[:n]), without(log, n))
		}
	}
	return all
}

// ended returns the log with the endings of all that it leaves open.
func ended(log []event.Event) []event.Event {
	return closed(log, event.Abort(event.Interrupted, "web"), 0)
}

// crashed returns the log of a host that died at its last event, after its recovery.
func crashed(log []event.Event) []event.Event {
	return closed(log, event.Abort(event.Crashed, "host"), 9*time.Hour)
}

// closed returns the log with the endings for the cause, at the time after its last event.
func closed(log []event.Event, cause *event.Cause, after time.Duration) []event.Event {
	var s event.State
	for _, e := range log {
		s, _ = event.Fold(s, e)
	}
	if !s.Open {
		return log
	}
	out := append([]event.Event{}, log...)
	for _, e := range event.Closings(s, cause) {
		last := out[len(out)-1]
		e.V, e.Session, e.Seq, e.At = last.V, last.Session, last.Seq+1, log[len(log)-1].At.Add(after)
		out = append(out, e)
	}
	return out
}

// without returns the log without its nth event, as if it had never been.
func without(log []event.Event, n int) []event.Event {
	out := append([]event.Event{}, log[:n]...)
	for _, e := range log[n+1:] {
		e.Seq--
		out = append(out, e)
	}
	return out
}

func digestOf(log []event.Event) digest {
	var s event.State
	d := digest{Waiting: []string{}, Turns: []turnDigest{}, Jobs: []string{}, Children: []string{}}
	for _, e := range log {
		next, err := event.Fold(s, e)
		if err != nil {
			d.Refused = e.Seq
			break
		}
		s = next
	}
	d.Seq, d.Open = s.Seq, s.Open
	for _, i := range s.Waiting {
		d.Waiting = append(d.Waiting, fmt.Sprint(i.ID, " ", i.Text, " ", i.Held))
	}
	for _, t := range s.Turns {
		d.Turns = append(d.Turns, digestOfTurn(t))
	}
	for _, j := range s.Jobs {
		how := ""
		if j.Ended != nil {
			how = string(j.Ended.How)
		}
		d.Jobs = append(d.Jobs, j.Job+" "+how)
	}
	for _, c := range s.Children {
		outcome := ""
		if c.Ended != nil {
			outcome = string(c.Ended.Outcome)
		}
		line := c.Child + " " + c.Item + " " + outcome + " " + timeOf(c.EndedAt)
		for _, a := range c.Approvals {
			line += " " + a.Approval + "="
			if a.Ended != nil {
				line += string(a.Ended.Verdict)
			}
		}
		d.Children = append(d.Children, line)
	}
	return d
}

func digestOfTurn(t *event.Turn) turnDigest {
	d := turnDigest{
		ID: t.ID, Ended: timeOf(t.EndedAt),
		Inputs: ids(t.Inputs), Attempts: []string{}, Items: []string{}, Approvals: []string{},
	}
	if t.Cause != nil {
		d.Outcome = string(t.Cause.Outcome)
	}
	if t.Interrupt != nil {
		d.Interrupt = string(t.Interrupt.Reason)
	}
	for _, a := range t.Attempts {
		outcome := ""
		if a.End != nil {
			outcome = string(a.End.Outcome)
		}
		d.Attempts = append(d.Attempts, strings.Join([]string{
			a.ID, outcome, timeOf(a.EndedAt), strings.Join(ids(a.Inputs), ","),
		}, " "))
	}
	for _, i := range t.Items {
		c, reason := i.Content(), ""
		if i.Cause != nil {
			reason = string(i.Cause.Reason)
		}
		d.Items = append(d.Items, strings.Join([]string{
			i.ID, i.Attempt, string(i.Type()), string(i.Status), fmt.Sprint(i.Ready), fmt.Sprint(i.Started), fmt.Sprint(i.Discarded),
			string(i.Effects), reason, c.Name, c.Text, c.Arguments, c.Output, timeOf(i.EndedAt),
		}, "|"))
	}
	for _, a := range t.Approvals {
		verdict := ""
		if a.Ended != nil {
			verdict = string(a.Ended.Verdict)
		}
		d.Approvals = append(d.Approvals, strings.Join([]string{
			a.Approval, a.Call, verdict, a.EndedBy, timeOf(a.EndedAt),
		}, " "))
	}
	return d
}

// timeOf returns the time as JavaScript writes it; empty for none.
func timeOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

func ids(inputs []event.Input) []string {
	out := []string{}
	for _, i := range inputs {
		out = append(out, i.ID)
	}
	return out
}

func lines(t *testing.T, out []byte) (all [][]byte) {
	t.Helper()
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		all = append(all, bytes.Clone(scanner.Bytes()))
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
