package about

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool/mcp"
)

// serverLine is an MCP server as JSON.
type serverLine struct {
	Name    string   `json:"name"`
	State   string   `json:"state"` // ok, failed, needs-login, known, new, disabled, untrusted
	Login   string   `json:"login,omitempty"`
	Where   string   `json:"where"`
	From    string   `json:"from"`
	Tools   []string `json:"tools,omitempty"`
	Prompts []string `json:"prompts,omitempty"`
	Version string   `json:"protocol,omitempty"`
	StartMS *int64   `json:"start_ms,omitempty"`
	ListMS  *int64   `json:"list_ms,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func servers(list []assemble.Configured, mask *redact.Redactor) (lines []serverLine) {
	for _, s := range list {
		l := serverLine{
			Name: s.Name, State: "new", Where: mask.Diagnostic(assemble.ServerOf(s.Server).Where()),
			From: s.Origin.String(),
		}
		if s.Known != nil {
			l.State, l.Version = "known", s.Known.Protocol
			for _, t := range s.Known.Tools {
				l.Tools = append(l.Tools, t.Name)
			}
			for _, p := range s.Known.Prompts {
				l.Prompts = append(l.Prompts, p.Name)
			}
		}
		l.Login = string(s.Login)
		_, refused := errors.AsType[*mcp.LoginError](reported(s))
		switch r := s.Report; {
		case s.Untrusted:
			l.State = "untrusted"
		case refused, r == nil && s.Enabled && s.Login == assemble.LoginNeeded:
			l.State, l.Error = needsLogin, "log in with: settle mcp-servers login "+s.Name
			if refused {
				l.Error = mask.Diagnostic(r.Err.Error())
			}
		case r != nil && r.Err != nil:
			l.State, l.Error = "failed", mask.Diagnostic(r.Err.Error())
		case r != nil:
			start, list := r.Start.Milliseconds(), r.List.Milliseconds()
			l.State, l.StartMS, l.ListMS = "ok", &start, &list
		case !s.Enabled:
			l.State = "disabled"
		}
		lines = append(lines, l)
	}
	return lines
}

// needsLogin is the state of a server that a person has to log in to.
const needsLogin = "needs-login"

// reported returns the reason why a server cannot be used, from its test; nil if it was not tested.
func reported(s assemble.Configured) error {
	if s.Report == nil {
		return nil
	}
	return s.Report.Err
}

// ServersJSON writes the MCP servers, one JSON object a line.
func ServersJSON(to io.Writer, list []assemble.Configured, mask *redact.Redactor) error {
	return listing.JSON(to, servers(list, mask))
}

// Servers writes a table of the MCP servers, and below it the errors of failed servers.
// Secrets are masked.
func Servers(to io.Writer, list []assemble.Configured, mask *redact.Redactor) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"SERVER", "STATE", "TOOLS", "START", "WHERE", "FROM"}}
	lines := servers(list, mask)
	for i, l := range lines {
		tools, start := "-", "-"
		if list[i].Known != nil {
			tools = fmt.Sprint(len(l.Tools))
		}
		if l.StartMS != nil {
			start = terminal.Duration(time.Duration(*l.StartMS+*l.ListMS) * time.Millisecond)
		}
		rows = append(rows, []string{l.Name, l.State, tools, start, terminal.Short(l.Where, 60), l.From})
	}
	if err := listing.Table(to, rows); err != nil {
		return err
	}
	for _, l := range lines {
		if l.Error == "" {
			continue
		}
		if _, err := fmt.Fprintf(to, "\n%s: %s\n", l.Name, terminal.Text(l.Error)); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
	}
	return nil
}

// ServerTools writes the tools and prompts of the servers, each with the first line of its
// description.
func ServerTools(to io.Writer, list []assemble.Configured) error {
	for _, s := range list {
		if s.Known == nil {
			continue
		}
		rows := [][]string{{strings.ToUpper(terminal.OneLine(s.Name)) + " TOOL", "WHAT IT DOES"}}
		for _, t := range s.Known.Tools {
			rows = append(rows, described(t.Name, t.Description))
		}
		if len(s.Known.Prompts) > 0 {
			rows = append(rows, nil, []string{strings.ToUpper(terminal.OneLine(s.Name)) + " PROMPT", "WHAT IT DOES"})
		}
		for _, p := range s.Known.Prompts {
			rows = append(rows, described(p.Name, p.Description))
		}
		if _, err := fmt.Fprintln(to); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
		if err := listing.Table(to, rows); err != nil {
			return err
		}
	}
	return nil
}

// described is a row of a table.
func described(name, description string) []string {
	first, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return []string{terminal.OneLine(name), terminal.Short(first, 100)}
}
