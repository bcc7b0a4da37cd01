package web

import (
	"net/http"
	"slices"
	"strings"
)

// route is one operation of the API. The server and its OpenAPI description use the same
// table.
type route struct {
	method, path string
	name         string // operationId
	summary      string
	body         any // zero value of the request's; nil for none
	must         bool
	query        map[string]string // parameters with their descriptions
	headers      map[string]string
	status       int
	answer       any    // zero value; nil for none
	media        string // of an answer that is not JSON
	problems     []int  // besides the problems that every request can have
	handle       func(*Server, http.ResponseWriter, *http.Request) error
}

// routes is the API.
func routes() []route {
	return slices.Concat(
		sessionRoutes(),
		inputRoutes(),
		controlRoutes(),
		keepRoutes(),
		settingRoutes(),
		rewindRoutes(),
		fileRoutes(),
		pluginRoutes(),
		metricRoutes(),
		[]route{{
			method: "GET", path: "/api/openapi.json", name: "describe", summary: "This description.",
			status: http.StatusOK, media: "application/json", handle: (*Server).description,
		}},
	)
}

func sessionRoutes() []route {
	return []route{
		{
			method:  "GET",
			path:    "/api/sessions",
			name:    "listSessions",
			summary: "List the sessions, most recently changed first.",
			status:  http.StatusOK,
			answer:  sessionList{},
			handle:  (*Server).list,
		},
		{
			method:   "POST",
			path:     "/api/sessions",
			name:     "openSession",
			summary:  "Open a session, or create it.",
			body:     newSession{},
			status:   http.StatusCreated,
			answer:   snapshot{},
			problems: []int{409},
			handle:   (*Server).create,
		},
		{
			method:  "GET",
			path:    "/api/sessions/{id}",
			name:    "getSession",
			summary: "Get the current state of a session, without opening it.",
			query: map[string]string{
				"turns": "how many of the last turns you want to read; \"tail\" then says where they begin",
			},
			status:   http.StatusOK,
			answer:   snapshot{},
			problems: []int{400, 404},
			handle:   (*Server).get,
		},
		{
			method: "DELETE", path: "/api/sessions/{id}", name: "closeSession",
			summary: "Close a session: its turn and everything that it started end. The log is kept.",
			status:  http.StatusNoContent, problems: []int{404, 409}, handle: (*Server).closeSession,
		},
		{
			method: "GET",
			path:   "/api/sessions/{id}/events",
			name:   "events",
			summary: "The events after a cursor, in order and as they come, as server-sent events: \"event\" has an event (docs/reference/events.md) and its number as id; " +
				"\"resync\" says that the cursor is unknown: start again from 0; \"closed\" says that the session is closed; \"problem\" says why the stream ends. Each of these three ends the stream.",
			query:    map[string]string{"after": "number of the last event that you have; 0 for all"},
			headers:  map[string]string{"Last-Event-ID": "the same; takes precedence over the parameter"},
			status:   http.StatusOK,
			media:    "text/event-stream",
			problems: []int{400, 404, 503},
			handle:   (*Server).events,
		},
		{
			method:   "GET",
			path:     "/api/sessions/{id}/export",
			name:     "export",
			summary:  "All events so far, one per line.",
			status:   http.StatusOK,
			media:    "application/jsonl",
			problems: []int{404},
			handle:   (*Server).export,
		},
	}
}

func inputRoutes() []route {
	return []route{
		{
			method:   "POST",
			path:     "/api/sessions/{id}/inputs",
			name:     "sendInput",
			summary:  "Send an input. It is durable when this answers: it runs, or is held and shown as held.",
			body:     newInput{},
			must:     true,
			status:   http.StatusAccepted,
			answer:   receipt{},
			problems: []int{404, 409},
			handle:   (*Server).input,
		},
		{
			method:   "DELETE",
			path:     "/api/sessions/{id}/inputs/{input}",
			name:     "dropInput",
			summary:  "Withdraw a waiting input.",
			status:   http.StatusNoContent,
			problems: []int{404, 409},
			handle:   (*Server).drop,
		},
	}
}

func controlRoutes() []route {
	return []route{
		{
			method: "POST",
			path:   "/api/sessions/{id}/interrupt",
			name:   "interrupt",
			summary: "End the running turn, or the turn of one input. Answers how it ended, after it has ended; empty " +
				"if nothing was running.",
			body:     interruption{},
			status:   http.StatusOK,
			answer:   outcome{},
			problems: []int{404, 409},
			handle:   (*Server).interrupt,
		},
		{
			method: "POST",
			path:   "/api/sessions/{id}/approvals/{approval}",
			name:   "answerApproval",
			summary: "Answer for a call that is waiting for approval. The first answer counts; later ones run nothing " +
				"and get the first. \"aborted\" also interrupts the turn. A held call that is approved runs in a " +
				"new turn.",
			body:     verdict{},
			must:     true,
			status:   http.StatusNoContent,
			problems: []int{404, 409, 422},
			handle:   (*Server).answerApproval,
		},
		{
			method: "POST", path: "/api/sessions/{id}/calls/{item}/cancel", name: "cancelCall",
			summary: "End one call; the turn continues with its output so far.",
			status:  http.StatusNoContent, problems: []int{404, 409}, handle: (*Server).cancelCall,
		},
		{
			method:   "POST",
			path:     "/api/sessions/{id}/jobs/{job}/kill",
			name:     "killJob",
			summary:  "End a job. Answers when it has ended.",
			status:   http.StatusNoContent,
			problems: []int{404, 409},
			handle:   (*Server).killJob,
		},
	}
}

// route fills the mux.
func (s *Server) route(all []route) {
	s.mux = http.NewServeMux()
	for _, r := range all {
		s.mux.Handle(r.method+" "+r.path, s.handler(r.handle))
	}
	s.mux.Handle("/api/", s.handler((*Server).nothing))
	s.mux.Handle("/api", s.handler((*Server).nothing))
	s.mux.Handle(metricsPath, s.handler((*Server).nothing))
	s.mux.Handle("/", s.Page)
}

// handler makes a handler of a function that may fail.
func (s *Server) handler(f func(*Server, http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(s, w, r); err != nil {
			s.refuse(w, err)
		}
	})
}

// nothing answers for paths of the API that there are not, or not with this
// method.
func (s *Server) nothing(w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		request := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(request); strings.Contains(pattern, " ") {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return newProblem(
			http.StatusNotFound, "path", "there is nothing at this path; /api/openapi.json describes the API",
		)
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return newProblem(http.StatusMethodNotAllowed, "method", "this path has "+strings.Join(allowed, ", "))
}
