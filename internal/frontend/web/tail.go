package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/settle-agent/settle/event"
)

// tail has the data to read the last turns of a session without the turns before them.
type tail struct {
	After   uint64 `json:"after" jsonschema:"the turns are the events after this one; 0 for all"`
	Earlier int    `json:"earlier" jsonschema:"how many turns come before"`
	// Opened, Created, Inputs and Jobs come from the events before; they are empty if there are
	// none.
	Opened  json.RawMessage `json:"opened,omitempty" jsonschema:"the data of session.opened"`
	Created time.Time       `json:"created"`
	Inputs  []tailInput     `json:"inputs" jsonschema:"inputs that were possibly accepted earlier"`
	Jobs    []tailJob       `json:"jobs" jsonschema:"jobs that were running at that point"`
}

type tailInput struct {
	Input  string        `json:"input"`
	Text   string        `json:"text"`
	Images []event.Image `json:"images,omitempty"`
	// Documents are PDFs.
	Documents []event.Document `json:"documents,omitempty"`
	Mode      event.Mode       `json:"mode,omitempty"`
	By        string           `json:"by,omitempty"`
	At        time.Time        `json:"at"`
	Held      bool             `json:"held"`
}

type tailJob struct {
	Job     string    `json:"job"`
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Log     string    `json:"log,omitempty"`
	Turn    string    `json:"turn"`
	Call    string    `json:"call"`
	At      time.Time `json:"at"`
}

// maxTailEvents bounds the events of a tail. One turn may have more.
const maxTailEvents = 20_000

// tailTurns is the parameter of that name: how many turns a client wants; 0 if
// it does not ask.
func tailTurns(r *http.Request) (int, error) {
	text := r.URL.Query().Get("turns")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, newProblem(http.StatusBadRequest, "turns", "turns must be a number from 1")
	}
	return n, nil
}

// tailOf describes the last turns of a session.
func tailOf(st event.State, turns int) *tail {
	first := max(0, len(st.Turns)-turns)
	for first+1 < len(st.Turns) && st.Seq-st.Turns[first].StartSeq > maxTailEvents {
		first++
	}
	out := &tail{Earlier: first, Created: st.Created, Inputs: []tailInput{}, Jobs: []tailJob{}}
	if first == 0 {
		return out
	}
	begin := st.Turns[first].StartSeq
	out.After = begin - 1
	if raw, err := json.Marshal(st.Host); err == nil { // it came from JSON
		out.Opened = raw
	}
	inputs := slices.Clone(st.Waiting)
	for _, t := range st.Turns[first:] {
		inputs = append(inputs, t.Inputs...)
		for _, a := range t.Attempts {
			inputs = append(inputs, a.Inputs...)
		}
	}
	for _, i := range inputs {
		out.Inputs = append(out.Inputs, tailInput{i.ID, i.Text, i.Images, i.Documents, i.Mode, i.By, i.At, i.Held})
	}
	for _, j := range st.Jobs {
		if j.StartSeq < begin && (j.EndSeq == 0 || j.EndSeq >= begin) {
			out.Jobs = append(out.Jobs, tailJob{j.Job, j.PID, j.Command, j.Log, j.Turn, j.Call, j.At})
		}
	}
	return out
}
