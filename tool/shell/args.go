package shell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Arguments are those of the shell tool.
type Arguments struct {
	Command     string `json:"command"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty"`
	Workdir     string `json:"workdir,omitempty"`
	Description string `json:"description,omitempty"`
	Background  bool   `json:"background,omitempty"`
	YieldMS     int64  `json:"yield_ms,omitempty"`
	Release     bool   `json:"release,omitempty"`
	TTY         bool   `json:"tty,omitempty"`
	Outside     bool   `json:"outside,omitempty"`
}

const schema = `{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "description": "The command, as one would type it."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "End the command after this many milliseconds (default %d, at most %d)."},
    "workdir": {"type": "string", "description": "Directory to run in (default: the session's)."},
    "description": {"type": "string", "description": "What the command is for, in a few words."},
    "background": {"type": "boolean", "description": "Start it as a job and do not wait for it: servers, watchers."},
    "yield_ms": {"type": "integer", "minimum": 1, "description": "Wait this long; what still runs then goes on as a job."},
    "release": {"type": "boolean", "description": "With background: let it outlive this session. Only if that was asked for."},
    "tty": {"type": "boolean", "description": "Give the command a terminal."}%s
  },
  "required": ["command"],
  "additionalProperties": false
}`

// outside is the property of those that may ask to leave the sandbox.
const outside = `,
    "outside": {"type": "boolean", "description": "Run outside of the sandbox, which a person has to approve. Only for what the sandbox denied."}`

func (c Config) schema() json.RawMessage {
	more := ""
	if c.Outside {
		more = outside
	}
	return json.RawMessage(fmt.Sprintf(schema, c.Timeout.Milliseconds(), c.MaxTimeout.Milliseconds(), more))
}

func (c Config) describe() string {
	m := c.machine.Machine()
	var b strings.Builder
	fmt.Fprintf(&b, "Run a command with %s -c and wait for it to exit. Its input is empty. "+
		"Output and errors come back merged; of much, both ends, with the file that has the whole. "+
		"What it leaves running (\"server &\", or background) becomes a job: see the tool job. All else that it started ends with it. "+
		"Each call is a new shell: directories and variables do not carry over.", cmp.Or(m.Shell, "sh"))
	if c.Outside {
		b.WriteString(" Commands run in a sandbox, unless the user has turned it off: they may change files in the working directory and in $TMPDIR only, cannot read the rest of the home directory, " +
			"and may have no network, or only some hosts through the proxy in HTTPS_PROXY. What it denied is said at the end of the output; then outside asks the user to let the command run without it.")
	}
	if len(m.Withheld) > 0 {
		fmt.Fprintf(&b, " These environment variables are withheld from commands: %s.", strings.Join(m.Withheld, ", "))
	}
	return b.String()
}

func parseArgs(raw json.RawMessage) (Arguments, error) {
	var a Arguments
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("cannot read the arguments: %w", err)
	}
	if strings.TrimSpace(a.Command) == "" {
		return a, fmt.Errorf("cannot run a command: it is empty")
	}
	if a.Release && !a.Background {
		return a, fmt.Errorf("cannot release the command: release needs background")
	}
	return a, nil
}

func (a Arguments) timeout(c Config) time.Duration {
	if a.TimeoutMS <= 0 {
		return c.Timeout
	}
	if a.TimeoutMS > c.MaxTimeout.Milliseconds() {
		return c.MaxTimeout
	}
	return time.Duration(a.TimeoutMS) * time.Millisecond
}

// title says in one line what a call will do.
func title(raw json.RawMessage) string {
	a, err := parseArgs(raw)
	if err != nil {
		return "shell"
	}
	first, _, more := strings.Cut(strings.TrimSpace(a.Command), "\n")
	if more {
		first += " …"
	}
	return first
}
