package config

import (
	"cmp"
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

// started is the model, the server and the effort that were named for a session last.
type started struct {
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	// Provider is the provider of the server; the key of no other provider is sent to it.
	Provider string `json:"provider,omitempty"`
	Effort   string `json:"effort,omitempty"`
}

// maxStarted bounds the file of a session's start, in bytes.
const maxStarted = 16 << 10

// StartedFile is the file that keeps which model, server and effort were named for a session.
func StartedFile(dataDir, session string) string { return filepath.Join(dataDir, "started", session) }

// KeepStarted keeps the model, the server and the effort that a flag or a variable named for a
// session, for [Resolved.Continue]. It keeps nothing if the address contains a password or a
// query, which can be a key. If nothing is named, an earlier choice stays.
func (r *Resolved) KeepStarted(session string) error {
	if s, ok := r.toKeep(session); ok && s != (started{}) {
		return r.keepStarted(session, s)
	}
	return nil
}

// KeepChosen does what KeepStarted does, after a choice during the session. If nothing is named, the
// configured model was chosen again, and the earlier choice goes.
func (r *Resolved) KeepChosen(session string) error {
	s, ok := r.toKeep(session)
	if ok && s == (started{}) {
		if err := os.Remove(StartedFile(r.DataDir, session)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot forget the earlier model of session %q: %w", session, err)
		}
		return nil
	}
	if ok {
		return r.keepStarted(session, s)
	}
	return nil
}

// toKeep returns what a flag or a variable named for a session; false if it cannot be kept.
func (r *Resolved) toKeep(session string) (s started, ok bool) {
	if s.BaseURL = r.BaseURL; s.BaseURL != "" {
		s.Provider = cmp.Or(r.addressOwner(), r.chosenProvider())
	}
	if r.isNamed("model", r.Model) {
		s.Model = r.Model
	}
	if r.isNamed("effort", r.Effort) {
		s.Effort = r.Effort
	}
	u, err := url.Parse(s.BaseURL)
	return s, err == nil && u.User == nil && u.RawQuery == "" && isFileName(session) && r.DataDir != ""
}

func (r *Resolved) keepStarted(session string, s started) error {
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

// Continue returns the settings for the continuation of a session, and what they were
// resolved from: the given settings with the model, the server and the effort that were named
// for the session last, unless a flag or a variable names another model now. It calls load,
// which resolves given settings, only if there is something to add. Who names the session's own model,
// such as a frontend that keeps what was chosen, gets its server and its effort too.
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

// started returns the given settings with those that were named for the session last.
func (r *Resolved) started(session string, given map[string]string) map[string]string {
	if session == "" || !isFileName(session) || r.DataDir == "" {
		return given
	}
	data, _, err := disk.Read(StartedFile(r.DataDir, session), maxStarted)
	var s started
	if err != nil || json.Unmarshal(data, &s) != nil || r.isNamed("model", r.Model) && r.Model != s.Model {
		return given
	}
	all := maps.Clone(given)
	if all == nil {
		all = map[string]string{}
	}
	if s.Model != "" {
		all["model"] = s.Model
	}
	if s.BaseURL != "" && s.Provider != "" && r.BaseURL == "" {
		all["base_url"], all[addressFor] = s.BaseURL, s.Provider
	}
	if s.Effort != "" && !r.isNamed("effort", r.Effort) {
		all["effort"] = s.Effort
	}
	return all
}

// isNamed reports whether a flag or a variable names the value of a setting.
func (r *Resolved) isNamed(setting, value string) bool {
	kind := r.Origins[setting].Kind
	return value != "" && (kind == Flag || kind == Env)
}

// isFileName reports whether an id names a file in a folder, and none elsewhere.
func isFileName(id string) bool { return filepath.Base(id) == id && !strings.HasPrefix(id, ".") }
