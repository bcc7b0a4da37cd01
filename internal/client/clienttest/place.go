package clienttest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
)

// Patience bounds the waits of a test. A passing test never reaches it.
const Patience = time.Minute

// CloseTimeout is for frontends under test: on a busy machine, real work such as disk
// writes takes longer than a client would wait.
const CloseTimeout = Patience / 2

// Place has the folders of a test: Data has the sessions, and Dir is their working directory and
// the user's home directory.
type Place struct{ Data, Dir string }

// NewPlace makes a place.
func NewPlace(t *testing.T) Place {
	t.Helper()
	return Place{Data: t.TempDir(), Dir: t.TempDir()}
}

// Getenv reads the environment that there is.
func (p Place) Getenv(name string) string {
	switch name {
	case "HOME":
		return p.Dir
	case "SETTLE_DATA_DIR":
		return p.Data
	case "PATH":
		return os.Getenv("PATH")
	}
	return ""
}

// Sessions opens sessions for a frontend. Calls need approval.
func (p Place) Sessions(provider model.Provider, frontend string) *assemble.Sessions {
	return &assemble.Sessions{
		Base: assemble.Options{
			Getenv:            p.Getenv,
			Environ:           []string{"PATH=" + os.Getenv("PATH")},
			HostOptions:       assemble.HostOptions{Frontend: frontend},
			PermissionOptions: assemble.PermissionOptions{Permission: settle.Ask, Attended: true},
			ModelOptions: assemble.ModelOptions{
				Model: model.Config{Provider: provider, ProviderName: "script", Name: "m"},
			},
		},
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			return config.Load(config.Input{Dir: dir, Flags: given, Getenv: p.Getenv, GOOS: "linux"})
		},
	}
}

// CheckLogs holds every log against the contract.
func (p Place) CheckLogs(t *testing.T) {
	t.Helper()
	kept, err := journal.List(p.Data)
	if err != nil {
		t.Error(err)
	}
	for _, entry := range kept {
		var log []event.Event
		for e, err := range journal.Read(context.Background(), p.Data, entry.Session, 0) {
			if err != nil {
				t.Errorf("session %s: %v", entry.Session, err)
			}
			log = append(log, e)
		}
		if err := contract.Check(log); err != nil {
			t.Errorf("session %s: %v", entry.Session, err)
		}
	}
}
