package endings

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// settleReader reads settle's events (docs/reference/events.md). Attempts and items belong
// to their turn, approvals to their call; jobs and background children to
// nothing, since they outlive the turn.
type settleReader struct{}

type settleEvent struct {
	V       int       `json:"v"`
	At      time.Time `json:"at"`
	Session string    `json:"session"`
	Turn    string    `json:"turn"`
	Attempt string    `json:"attempt"`
	Item    string    `json:"item"`
	Kind    string    `json:"kind"`
	Data    struct {
		Type     string `json:"type"`
		Status   string `json:"status"`
		Outcome  string `json:"outcome"`
		Reason   string `json:"reason"`
		Verdict  string `json:"verdict"`
		How      string `json:"how"`
		Approval string `json:"approval"`
		Job      string `json:"job"`
		Child    string `json:"child"`
		Hook     string `json:"hook"`
		Turn     string `json:"turn"`
	} `json:"data"`
}

func (settleReader) read(line []byte) ([]Record, error) {
	var e settleEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	if e.V == 0 || e.Kind == "" {
		return nil, errors.New("it is not an event of settle's")
	}
	r := e.record()
	if r == (Record{}) {
		return nil, nil
	}
	r.At = e.At
	return []Record{r}, nil
}

// id makes an id one of the log: a log may be of several sessions.
func (e settleEvent) id(id string) string {
	if id == "" {
		return ""
	}
	return e.Session + "/" + id
}

func (e settleEvent) record() Record {
	d := e.Data
	what, happened, _ := strings.Cut(e.Kind, ".")
	switch e.Kind {
	case "turn.started":
		return Record{Start: e.id(e.Turn), Kind: what}
	case "turn.completed", "turn.failed":
		return Record{End: e.id(e.Turn), Cause: happened}
	case "turn.aborted":
		return Record{End: e.id(e.Turn), Cause: d.Reason}
	case "interrupt.requested":
		return Record{Interrupt: e.id(cmp.Or(d.Turn, e.Turn))}
	case "attempt.started":
		return Record{Start: e.id(e.Attempt), Kind: what, In: e.id(e.Turn)}
	case "attempt.ended":
		return Record{End: e.id(e.Attempt), Cause: d.Outcome}
	case "item.started":
		return Record{Start: e.id(e.Item), Kind: d.Type, In: e.id(e.Turn)}
	case "item.ended":
		return Record{End: e.id(e.Item), Cause: d.Status}
	case "approval.requested":
		return Record{Start: e.id(d.Approval), Kind: what, In: e.id(e.Item)}
	case "approval.ended":
		return Record{End: e.id(d.Approval), Cause: d.Verdict}
	case "job.started":
		return Record{Start: e.id(d.Job), Kind: what}
	case "job.ended":
		return Record{End: e.id(d.Job), Cause: d.How}
	case "child.started":
		return Record{Start: e.id(d.Child), Kind: what, In: e.id(e.Turn)}
	case "child.ended":
		return Record{End: e.id(d.Child), Cause: d.Outcome}
	case "hook.started":
		return Record{Start: e.id(d.Hook), Kind: what, In: e.id(e.Turn)}
	case "hook.ended":
		return Record{End: e.id(d.Hook), Cause: d.Outcome}
	}
	return Record{}
}
