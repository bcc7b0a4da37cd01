package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The control endpoint gives tests in any language the data that a Go test gets from a [Server]:
// the requests, the refusals, the end of each exchange, and the remaining turns.
// docs/reference/scenarios.md describes it.

const (
	// controlTimeout is the default wait of GET /control/exchanges.
	controlTimeout = 10 * time.Second
	// maxControlTimeout is the maximum wait that it can request.
	maxControlTimeout = 10 * time.Minute
)

// control adds the control endpoint.
func (s *Server) control(mux *http.ServeMux) {
	mux.HandleFunc("GET /control/state", s.controlled(s.controlState))
	mux.HandleFunc("GET /control/exchanges", s.controlled(s.controlExchanges))
	mux.HandleFunc("POST /control/turns", s.controlled(s.controlTurns))
	mux.HandleFunc("/control/", s.controlled(func(r *http.Request) (any, error) {
		return nil, controlError{
			http.StatusNotFound,
			fmt.Sprintf("there is no %s %s; see docs/reference/scenarios.md", r.Method, r.URL.Path),
		}
	}))
}

// controlError is an error with its HTTP status; any other is a 400.
type controlError struct {
	status int
	what   string
}

func (e controlError) Error() string { return e.what }

// controlled responds with the JSON of the result of answer.
func (s *Server) controlled(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.enter()
		defer s.leave()
		body, err := answer(r)
		status := http.StatusOK
		if err != nil {
			status = http.StatusBadRequest
			var known controlError
			if errors.As(err, &known) {
				status = known.status
			}
			body = object{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(append(encode(body), '\n')) // a client that is gone needs no answer
	}
}

// State is the response to GET /control/state.
type State struct {
	// Requests is the number of requests to the model endpoints.
	Requests int `json:"requests"`
	// Refusals are the error texts of the requests that the rules refused.
	Refusals []string `json:"refusals"`
	// TurnsLeft is the number of turns of the script that have not been played.
	TurnsLeft int `json:"turns_left"`
	// Opened is the number of connections that clients have opened; Open is the number of open
	// ones.
	Opened int `json:"connections_opened"`
	Open   int `json:"connections_open"`
}

// State returns the server's state.
func (s *Server) State() State {
	st := State{Requests: len(s.Exchanges()), Refusals: slices.Concat([]string{}, s.Refusals()), TurnsLeft: s.Left()}
	st.Opened, st.Open = s.Connections()
	return st
}

func (s *Server) controlState(*http.Request) (any, error) { return s.State(), nil }

// controlExchanges returns the exchanges so far. With wait=N it first waits for N requests and,
// with ended=true, until the first N have ended.
func (s *Server) controlExchanges(r *http.Request) (any, error) {
	q := r.URL.Query()
	n, timeout, ended := 0, controlTimeout, false
	var err error
	for name, values := range q {
		switch value := values[0]; name {
		case "wait":
			n, err = strconv.Atoi(value)
		case "ended":
			ended, err = strconv.ParseBool(value)
		case "timeout":
			timeout, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("there is no %q; there are wait, ended and timeout", name)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the query: %w", err)
		}
	}
	if n < 0 || timeout < 0 || timeout > maxControlTimeout {
		return nil, fmt.Errorf("wait must not be negative, and timeout must be between 0 and %v", maxControlTimeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	wait := s.WaitRequests
	if ended {
		wait = s.WaitEnded
	}
	seen, err := wait(ctx, n)
	if err != nil {
		return nil, controlError{http.StatusRequestTimeout, err.Error()}
	}
	return object{"exchanges": describe(seen)}, nil
}

// controlTurns adds turns to the script.
func (s *Server) controlTurns(r *http.Request) (any, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("cannot read the turns: %w", err)
	}
	var turns []json.RawMessage
	if err := json.Unmarshal(raw, &turns); err != nil {
		return nil, fmt.Errorf("cannot read the turns: %w", err)
	}
	sc, err := ParseScenario(encode(object{"turns": turns}))
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(sc.Turns, func(t Turn) bool { return t.Recording != "" }); i >= 0 {
		return nil, fmt.Errorf("turn %d: a recording can only be named in a scenario file", i+1)
	}
	s.Then(sc.Turns...)
	return s.State(), nil
}

// describe renders exchanges for the control endpoint. It leaves out the
// values of headers that carry keys, which can be real keys.
func describe(seen []Exchange) []object {
	out := make([]object, len(seen))
	for i, x := range seen {
		headers := map[string]string{}
		for name, values := range x.Header {
			headers[name] = values[0]
			if slices.Contains([]string{"Authorization", "X-Api-Key", "Api-Key", "Cookie"}, name) {
				headers[name] = "[not shown]"
			}
		}
		o := object{
			"n": x.N, "at": x.At, "dialect": x.Dialect, "path": x.Path, "headers": headers,
			"turn": x.Turn, "refusal": x.Refusal, "status": x.Status, "struck": slices.Concat([]FaultKind{}, x.Struck),
			"deltas": x.Deltas, "ended": x.Ended,
		}
		if x.Ended != EndedOpen {
			o["ended_at"] = x.EndedAt
		}
		if body := bytes.TrimSpace(x.Body); json.Valid(body) {
			o["body"] = json.RawMessage(body)
		} else {
			o["body"] = string(x.Body)
		}
		out[i] = o
	}
	return out
}
