package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/client/files"
)

const (
	// maxFound is the number of paths that are offered. staleDelay is the age from which
	// the list of files is read again for a new search.
	maxFound   = 20
	staleDelay = 5 * time.Second
	// maxWords bounds a search text, in bytes.
	maxWords = 512
)

// foundFiles answers GET /api/files.
type foundFiles struct {
	Paths []string `json:"paths" jsonschema:"relative to the working directory, the best first; a directory ends with a slash"`
}

// folder lists the files of the working directory, once for all clients.
type folder struct {
	mu     sync.Mutex // guards the fields below
	list   *files.List
	readAt time.Time
}

func fileRoutes() []route {
	return []route{
		{
			method:   "GET",
			path:     "/api/files",
			name:     "findFiles",
			summary:  "Find files of the working directory by some letters of their paths.",
			query:    map[string]string{"match": "the letters, in their order; nothing for the files that lie nearest"},
			status:   http.StatusOK,
			answer:   foundFiles{},
			problems: []int{400},
			handle:   (*Server).findFiles,
		},
	}
}

func (s *Server) findFiles(w http.ResponseWriter, r *http.Request) error {
	words := r.URL.Query().Get("match")
	if len(words) > maxWords {
		return newProblem(http.StatusBadRequest, "match", "that is too long for a path")
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	f := &s.folder
	f.mu.Lock() // a list is bounded; other requests wait for it
	if f.list == nil || words == "" && time.Since(f.readAt) > staleDelay {
		f.list, f.readAt = files.Read(ctx, s.WorkDir), time.Now()
	}
	list := f.list
	f.mu.Unlock()
	reply(w, http.StatusOK, foundFiles{list.Match(words, maxFound)})
	return nil
}
