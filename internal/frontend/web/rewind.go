package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/disk/changes"
)

// rewindPlan has the file changes that a rewind to before an input would make.
type rewindPlan struct {
	Turn      string        `json:"turn" jsonschema:"the turn that the input began"`
	Input     string        `json:"input" jsonschema:"the text of the input"`
	Files     []rewindFile  `json:"files" jsonschema:"those that settle's tools and commands changed since"`
	Uncovered []rewindOther `json:"uncovered" jsonschema:"what may have changed files and cannot be undone"`
	Note      string        `json:"note,omitempty" jsonschema:"what is never recorded of commands, for people"`
}

// rewindFile is a file, and its planned change.
type rewindFile struct {
	Path   string        `json:"path"`
	Action rewind.Action `json:"action"`
	Why    string        `json:"why,omitempty"`
	Kind   changes.Kind  `json:"kind,omitempty" jsonschema:"directory or link; none for a file"`
	By     []string      `json:"by,omitempty" jsonschema:"the commands and other calls during which it changed"`
}

// rewindOther is something that settle does not undo.
type rewindOther struct {
	Kind rewind.UncoveredKind `json:"kind"`
	Text string               `json:"text"`
	Why  string               `json:"why,omitempty" jsonschema:"why settle could not record what it changed"`
}

// newRewind requests a rewind.
type newRewind struct {
	Input     string `json:"input,omitempty" jsonschema:"id of the input, or of its turn; default: the last one"`
	KeepFiles bool   `json:"keep_files,omitempty" jsonschema:"leave the files as they are"`
}

// rewound is the result of a rewind.
type rewound struct {
	ID       string   `json:"id" jsonschema:"of the copy"`
	Restored []string `json:"restored" jsonschema:"paths of the files that were changed"`
	Snapshot string   `json:"snapshot,omitempty" jsonschema:"the directory with the files as they were before; \"settle rewind --undo\" takes it"`
	Undo     string   `json:"undo,omitempty" jsonschema:"the command that restores them, for a shell"`
	Problem  string   `json:"problem,omitempty" jsonschema:"why some files could not be restored"`
}

func rewindRoutes() []route {
	return []route{
		{
			method:   "GET",
			path:     "/api/sessions/{id}/rewind",
			name:     "planRewind",
			summary:  "Get what going back to before an input would do to files. Changes nothing.",
			query:    map[string]string{"input": "id of the input, or of its turn; default: the last one"},
			status:   http.StatusOK,
			answer:   rewindPlan{},
			problems: []int{404, 409},
			handle:   (*Server).planRewind,
		},
		{
			method:   "POST",
			path:     "/api/sessions/{id}/rewind",
			name:     "rewindSession",
			summary:  "Go back to before an input: in a copy of the session, with the files that settle's tools and commands changed since as they were.",
			body:     newRewind{},
			status:   http.StatusCreated,
			answer:   rewound{},
			problems: []int{404, 409},
			handle:   (*Server).rewind,
		},
	}
}

func (s *Server) planRewind(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	p, err := s.plan(ctx, r.PathValue("id"), r.URL.Query().Get("input"))
	if err != nil {
		return err
	}
	out := rewindPlan{Turn: p.Turn, Input: p.Input, Files: []rewindFile{}, Uncovered: []rewindOther{}, Note: p.Note()}
	for _, f := range p.Files {
		out.Files = append(out.Files, rewindFile{f.Path, f.Do, s.mask(f.Why), f.Kind(), f.By})
	}
	for _, u := range p.Uncovered {
		out.Uncovered = append(out.Uncovered, rewindOther{u.Kind, u.Text, s.mask(u.Why)})
	}
	reply(w, http.StatusOK, out)
	return nil
}

// plan makes the plan of a session of this server's directory.
func (s *Server) plan(ctx context.Context, id, input string) (*rewind.Plan, error) {
	if _, err := s.keeps(ctx, id); err != nil {
		return nil, err
	}
	if err := openable(ctx, s.kept, id, s.WorkDir); err != nil {
		return nil, err
	}
	p, err := rewind.Read(ctx, s.DataDir, id, input)
	var (
		unknown *rewind.InputError
		running *rewind.RunningError
	)
	switch {
	case errors.As(err, &unknown):
		return nil, newProblem(http.StatusNotFound, "no-input", err.Error())
	case errors.As(err, &running):
		return nil, newProblem(http.StatusConflict, "running", err.Error())
	}
	return p, err
}

func (s *Server) rewind(w http.ResponseWriter, r *http.Request) error {
	var body newRewind
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	p, err := s.plan(ctx, r.PathValue("id"), body.Input)
	if err != nil {
		return err
	}
	files := rewind.RestoreFiles
	if body.KeepFiles {
		files = rewind.LeaveFiles
	} else if s.Ceiling == settle.Deny && len(p.Changes()) > 0 {
		return newProblem(
			http.StatusForbidden, "permission",
			"the user configured that nothing is changed here (permission deny); nothing was done; keep_files copies the session only",
		)
	}
	report, err := p.Fork(ctx, files)
	if report.Session == "" {
		return err
	}
	s.keepChoices(r.PathValue("id"), report.Session)
	out := rewound{ID: report.Session, Restored: []string{}, Snapshot: report.Snapshot}
	if report.Snapshot != "" {
		out.Undo = report.UndoCommand(s.FindsDataDir)
	}
	for _, f := range report.Restored {
		out.Restored = append(out.Restored, f.Path)
	}
	if err != nil {
		out.Problem = s.mask(err.Error())
	}
	reply(w, http.StatusCreated, out)
	return nil
}
