package about

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
)

// ErrUnanswered reports that a provider refused to list its models.
var ErrUnanswered = errors.New("some providers did not list their models; see above")

// modelLine is a model as JSON.
type modelLine struct {
	Model     string `json:"model"` // PROVIDER/NAME
	Window    int    `json:"window,omitempty"`
	MaxOutput int    `json:"max_output,omitempty"`
	Default   bool   `json:"default,omitempty"`
	Known     bool   `json:"known,omitempty"`
}

// ModelsJSON writes the models, one JSON object a line. [Unanswered] reports the providers
// that did not answer.
func ModelsJSON(to io.Writer, offers []assemble.Offer, chosen string) error {
	return listing.JSON(to, models(offers, chosen))
}

func models(offers []assemble.Offer, chosen string) (list []modelLine) {
	for _, o := range offers {
		for _, m := range o.Models {
			name := o.Provider.Name + "/" + m.ID
			list = append(list, modelLine{name, m.Window, m.MaxOutput, name == chosen, o.Known})
		}
	}
	return list
}

// Models writes a table of the models.
func Models(to io.Writer, offers []assemble.Offer, chosen string) error {
	rows := [][]string{{"MODEL", "WINDOW", "OUTPUT", ""}}
	for _, m := range models(offers, chosen) {
		mark := ""
		if m.Default {
			mark = "default"
		}
		rows = append(rows, []string{m.Model, tokens(m.Window), tokens(m.MaxOutput), mark})
	}
	return listing.Table(to, rows)
}

// tokens writes the size of a window.
func tokens(n int) string {
	if n == 0 {
		return "-"
	}
	return terminal.Window(n)
}

// Unanswered reports why a provider did not list its models, and which list replaces it.
// The error is ErrUnanswered if a provider refused.
func Unanswered(say func(string), offers []assemble.Offer) error {
	var refused error
	var keyless []string
	for _, o := range offers {
		if key := (*config.KeyError)(nil); errors.As(o.Err, &key) && o.Known && len(o.Models) > 0 {
			keyless = append(keyless, o.Provider.Name)
		}
	}
	if len(keyless) > 1 {
		say(fmt.Sprintf(
			"note: %s were not asked, since there is no key for them: these are the models that settle knows; "+
				"\"settle setup\" keeps a key", strings.Join(keyless, ", "),
		))
	}
	for _, o := range offers {
		var key *config.KeyError
		switch {
		case o.Err == nil, len(keyless) > 1 && slices.Contains(keyless, o.Provider.Name):
			continue
		case errors.As(o.Err, &key):
			say(fmt.Sprintf("note: %s was not asked: %s", o.Provider.Name, key.Message))
		case o.Known:
			say(fmt.Sprintf("note: %s cannot be reached: %v", o.Provider.Name, o.Err))
		default:
			say(fmt.Sprintf("cannot list the models of %s: %v", o.Provider.Name, o.Err))
			refused = ErrUnanswered
		}
		if o.Known && len(o.Models) > 0 {
			say("      these are the models that settle knows; it may have others")
		}
	}
	return refused
}
