package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/client/files"
)

const (
	// mostFound is how many paths are offered, and staleDelay after what time the
	// files are listed anew for a person who begins to look for one.
	mostFound  = 20
	staleDelay = 5 * time.Second
	// mostWords bounds what is looked for, in bytes.
	mostWords = 512
)

// foundFiles answers GET /api/files.
type foundFiles struct {
	Paths []string `json:"paths" jsonschema:"relative to the working directory, the best first; a directory ends with a slash"`
}

// folder lists the files of the working directory, once for all who look.
type folder struct {
	mu     sync.Mutex // guards what follows
	list   *files.List
	readAt time.Time
}

func fileRoutes() []route {
	return []route{{
		method: "GET", path: "/api/files", name: "findFiles", summary: "Find files of the working directory by some letters of their paths.",
		query:  map[string]string{"match": "the letters, in their order; nothing for the files that lie nearest"},
		status: http.StatusOK, answer: foundFiles{}, problems: []int{400}, handle: (*Server).findFiles,
	}}
}

func (s *Server) findFiles(w http.ResponseWriter, r *http.Request) error {
	words := r.URL.Query().Get("match")
	if len(words) > mostWords {
		return newProblem(http.StatusBadRequest, "match", "that is too long for a path")
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	f := &s.folder
	f.mu.Lock() // a list has bounds; who looks meanwhile waits for it
	if f.list == nil || words == "" && time.Since(f.readAt) > staleDelay {
		f.list, f.readAt = files.Read(ctx, s.WorkDir), time.Now()
	}
	list := f.list
	f.mu.Unlock()
	reply(w, http.StatusOK, foundFiles{list.Match(words, mostFound)})
	return nil
}
