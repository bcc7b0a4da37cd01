package about

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/printable"
)

// ErrUnanswered says that a provider refused to say what it has.
var ErrUnanswered = errors.New("some providers did not list their models; see above")

// modelLine is a model as JSON.
type modelLine struct {
	Model     string `json:"model"` // PROVIDER/NAME
	Window    int    `json:"window,omitempty"`
	MaxOutput int    `json:"max_output,omitempty"`
	Default   bool   `json:"default,omitempty"`
	Known     bool   `json:"known,omitempty"`
}

// ModelsJSON writes the models, one JSON object a line. What could not be asked
// is said by notes.
func ModelsJSON(to io.Writer, offers []assemble.Offer, chosen string) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	for _, o := range offers {
		for _, m := range o.Models {
			name := o.Provider.Name + "/" + m.ID
			if err := enc.Encode(modelLine{name, m.Window, m.MaxOutput, name == chosen, o.Known}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Models writes a table of the models.
func Models(to io.Writer, offers []assemble.Offer, chosen string) error {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MODEL\tWINDOW\tOUTPUT\t")
	for _, o := range offers {
		for _, m := range o.Models {
			name, mark := o.Provider.Name+"/"+m.ID, ""
			if name == chosen {
				mark = "default"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable.Text(name), tokens(m.Window), tokens(m.MaxOutput), mark)
		}
	}
	_ = w.Flush() // into memory
	var out bytes.Buffer
	for line := range bytes.Lines(table.Bytes()) {
		out.Write(append(bytes.TrimRight(line, " \n"), '\n'))
	}
	_, err := to.Write(out.Bytes())
	return err
}

// tokens writes a number of tokens as people do: 200k, 1.05M.
func tokens(n int) string {
	switch {
	case n == 0:
		return "-"
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", float64(n)/1e6), "0"), ".0") + "M"
}

// Unanswered says for each provider that did not say what it has why, and what
// was listed instead. The error is ErrUnanswered where a provider refused.
func Unanswered(say func(string), offers []assemble.Offer) error {
	var refused error
	for _, o := range offers {
		var key *config.KeyError
		switch {
		case o.Err == nil:
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
