package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody is the longest request that is read.
const maxBody = 256 << 20

// Handler returns the server as a handler, for use in another HTTP server.
// Its requests end when that server closes their connections or this one is
// closed.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, Responses) })
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, Messages) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, Chat) })
	mux.HandleFunc("POST /v1beta/models/{call}", s.handleGemini)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /v1beta/models", s.models)
	s.control(mux)
	mux.HandleFunc("/", s.lost)
	return mux
}

// wireRequest has the fields of a request that the server needs for its response.
type wireRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Include []string          `json:"include"`
	Tools   []json.RawMessage `json:"tools"`
	// ReturnTokenIDs is an extension of vLLM; Logprobs is a field of Chat Completions.
	ReturnTokenIDs bool `json:"return_token_ids"`
	Logprobs       bool `json:"logprobs"`
}

// handle answers one model request.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, d Dialect) {
	s.enter()
	defer s.leave()
	x := &Exchange{Turn: -1, Request: Request{At: time.Now(), Dialect: d, Path: r.URL.Path, Header: r.Header.Clone()}}
	name, method := geminiPath(r.PathValue("call"))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	x.Body, x.Schema = body, schemaOf(d, body)
	s.rec.begin(x)
	if err != nil {
		s.rec.end(x, EndedByClient, time.Now())
		return
	}
	if refusal := s.refusal(d, name, r.Header, body); refusal != nil {
		s.rec.update(func() { x.Refusal = refusal.Message })
		s.refuse(w, x, refusal)
		s.rec.end(x, EndedSent, time.Now())
		return
	}
	turn, faults, ok := s.turn(x)
	if !ok {
		s.rec.update(func() { x.Refusal = "no turn left" })
		s.refuse(w, x, invalid("modeltest: the script has no turn for this request (number %d)", x.N))
		s.rec.end(x, EndedSent, time.Now())
		return
	}
	p := s.player(w, r, x, turn, faults)
	stream := p.streams(body)
	if d == Gemini {
		p.r.model, stream = name, method != "generateContent"
	}
	p.frame()
	s.issued.remember(&p.r) // as the faults have it
	p.count(s.use(x))
	err = p.play(stream)
	s.finish(x, err)
	if errors.Is(err, errStop) {
		p.wire.cut(FaultCut) // or it would look complete
	}
}

// turn picks the turn for the exchange.
func (s *Server) turn(x *Exchange) (Turn, []Fault, bool) {
	if x.Dialect == Messages && s.rules.flag(x.Body) { // the others refused the request
		return Turn{Response: Response{Stop: StopRefusal}}, nil, true
	}
	if x.Dialect == Gemini && s.rules.flag(x.Body) {
		return geminiBlocked(), nil, true
	}
	turn, index, faults := s.script.next(x.Body)
	if index < 0 && s.answer == nil {
		return Turn{}, nil, false
	}
	if index < 0 {
		turn = s.answer(x.Request)
		faults, _ = turn.strikes(0)
	}
	s.rec.update(func() { x.Turn = index })
	return turn, faults, true
}

func (s *Server) player(w http.ResponseWriter, r *http.Request, x *Exchange, turn Turn, faults []Fault) *player {
	return &player{
		s:      s,
		x:      x,
		turn:   turn,
		faults: faults,
		wire:   wire{w: w, rc: http.NewResponseController(w), ctx: r.Context(), stop: s.stop},
		r: rendering{
			Response: turn.Response,
			n:        x.N,
			at:       x.At,
			dialect:  x.Dialect,
			account:  s.account(),
			provider: s.rules.Provider,
			custom:   map[string]bool{},
		},
	}
}

// streams reads the request for the rendering and reports whether it requests a stream. The body
// has been checked to be JSON.
func (p *player) streams(body []byte) bool {
	var req wireRequest
	_ = json.Unmarshal(body, &req) // with the rules off, fields of another type are left out
	p.r.model, p.r.usageWanted = req.Model, req.StreamOptions.IncludeUsage
	p.r.tokensWanted, p.r.logprobsWanted = req.ReturnTokenIDs, req.Logprobs
	for _, include := range req.Include {
		p.r.signatureWanted = p.r.signatureWanted || include == "reasoning.encrypted_content"
	}
	for _, raw := range req.Tools {
		if t := offeredAs(raw); t.Type == "custom" {
			p.r.custom[t.Name] = p.r.dialect == Responses
		}
	}
	p.r.search(req.Tools)
	return req.Stream
}

// finish records how the exchange ended.
func (s *Server) finish(x *Exchange, err error) {
	how := EndedSent
	switch {
	case errors.Is(err, errClient):
		how = EndedByClient
	case errors.Is(err, errStop):
		how = EndedByClose
	case err != nil:
		how = EndedByFault
	}
	s.rec.end(x, how, time.Now())
}

// refuse sends an error answer.
func (s *Server) refuse(w http.ResponseWriter, x *Exchange, e *apiError) {
	name, value, words := e.RetryAfter.headers(time.Now())
	if name != "" {
		w.Header().Set(name, value)
	}
	if words != "" {
		e.Message = strings.TrimSpace(e.Message + " " + words)
	}
	for k, v := range e.Header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", fmt.Sprintf("req_%06d", x.N))
	s.rec.update(func() { x.Status = e.Status })
	w.WriteHeader(e.Status)
	_, _ = w.Write(append(e.body(x.Dialect, x.N), '\n')) // a client that is gone needs no answer
}

// lost answers requests for anything else.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	s.enter()
	defer s.leave()
	x := &Exchange{Turn: -1, Request: Request{At: time.Now(), Path: r.URL.Path, Header: r.Header.Clone()}}
	s.rec.begin(x)
	e := invalid("Invalid URL (%s %s)", r.Method, r.URL.Path)
	e.Status = http.StatusNotFound
	s.rec.update(func() { x.Refusal = e.Message })
	s.refuse(w, x, e)
	s.rec.end(x, EndedSent, time.Now())
}

// models lists the models of the rules, or one if any name is known, in the
// shape of OpenAI or, for its clients, Anthropic.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	s.enter()
	defer s.leave()
	d := Chat
	if r.Header.Get("Anthropic-Version") != "" {
		d = Messages
	}
	if strings.HasPrefix(r.URL.Path, "/v1beta/") {
		d = Gemini
	}
	if e := s.checkKey(d, r.Header); e != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.Status)
		_, _ = w.Write(e.body(d, 0))
		return
	}
	known := s.rules.Models
	if len(known) == 0 {
		known = []Model{{ID: "fake-model"}}
	}
	data := make([]any, len(known))
	for i, m := range known {
		data[i] = m.listed(d)
	}
	w.Header().Set("Content-Type", "application/json")
	list := object{"object": "list", "data": data}
	if d == Messages {
		list = object{"data": data, "has_more": false, "first_id": known[0].ID, "last_id": known[len(known)-1].ID}
	}
	if d == Gemini {
		list = object{"models": data}
	}
	_, _ = w.Write(encode(list))
}

func (m Model) listed(d Dialect) object {
	if d == Messages {
		return object{"type": "model", "id": m.ID, "display_name": m.ID, "created_at": "2025-01-01T00:00:00Z"}
	}
	if d == Gemini {
		return object{
			"name": "models/" + m.ID, "inputTokenLimit": m.Window, "outputTokenLimit": m.MaxOutput,
			"supportedGenerationMethods": []string{"generateContent", "countTokens"},
		}
	}
	o := object{"id": m.ID, "object": "model", "created": 1735689600, "owned_by": "modeltest"}
	if m.Window > 0 {
		o["max_model_len"] = m.Window
	}
	return o
}
