package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// started is the model and the server that a session was started with.
type started struct {
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
}

// maxStarted bounds the file of a session's start, in bytes.
const maxStarted = 16 << 10

// StartedFile is the file that keeps which model and server a session was started with.
func StartedFile(dataDir, session string) string { return filepath.Join(dataDir, "started", session) }

// KeepStarted keeps the model and the server that a flag or a variable named for a session,
// for [Resolved.Continue]. It keeps nothing if the address contains a password or a query,
// which can be a key.
func (r *Resolved) KeepStarted(session string) error {
	s := started{BaseURL: r.BaseURL}
	if r.namedNow() {
		s.Model = r.Model
	}
	u, err := url.Parse(s.BaseURL)
	if s == (started{}) || err != nil || u.User != nil || u.RawQuery != "" || !isFileName(session) || r.DataDir == "" {
		return nil
	}
	path := StartedFile(r.DataDir, session)
	data, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the model of session %q for its continuation: %w", session, err)
	}
	return nil
}

// KeepChosen keeps the model and the server that were chosen for a session later, as KeepStarted
// does. If the choice is the configured model, it forgets an earlier one.
func (r *Resolved) KeepChosen(session string) error {
	if r.namedNow() || r.BaseURL != "" || !isFileName(session) || r.DataDir == "" {
		return r.KeepStarted(session)
	}
	if err := os.Remove(StartedFile(r.DataDir, session)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot forget the earlier model of session %q: %w", session, err)
	}
	return nil
}

// Continue returns the settings for the continuation of a session, and what they were
// resolved from: the given settings with the model and the server that the session was
// started with, unless a flag or a variable names another model now. It calls load, which
// resolves given settings, only if there is something to add.
func (r *Resolved) Continue(
	session string, given map[string]string, load func(map[string]string) (*Resolved, error),
) (*Resolved, map[string]string, error) {
	all := r.started(session, given)
	if maps.Equal(all, given) {
		return r, given, nil
	}
	next, err := load(all)
	return next, all, err
}

// started returns the given settings with those that the session was started with.
func (r *Resolved) started(session string, given map[string]string) map[string]string {
	if session == "" || r.namedNow() || !isFileName(session) || r.DataDir == "" {
		return given
	}
	data, _, err := disk.Read(StartedFile(r.DataDir, session), maxStarted)
	var s started
	if err != nil || json.Unmarshal(data, &s) != nil {
		return given
	}
	all := maps.Clone(given)
	if all == nil {
		all = map[string]string{}
	}
	if s.Model != "" {
		all["model"] = s.Model
	}
	if s.BaseURL != "" && r.BaseURL == "" {
		all["base_url"] = s.BaseURL
	}
	return all
}

// namedNow reports whether a flag or a variable names the model.
func (r *Resolved) namedNow() bool {
	kind := r.Origins["model"].Kind
	return r.Model != "" && (kind == Flag || kind == Env)
}

// isFileName reports whether an id names a file in a folder, and none elsewhere.
func isFileName(id string) bool { return filepath.Base(id) == id && !strings.HasPrefix(id, ".") }
