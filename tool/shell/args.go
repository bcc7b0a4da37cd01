package shell

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Arguments are the arguments of the shell tool.
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
    "command": {"type": "string", "minLength": 1},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Default %d, at most %d."},
    "workdir": {"type": "string", "description": "Default: the session's."},
    "description": {"type": "string", "description": "Purpose of the command, in a few words."},
    "background": {"type": "boolean", "description": "Start the command as a job and do not wait, for servers and watchers."},
    "yield_ms": {"type": "integer", "minimum": 1, "description": "Wait this long; a command that still runs becomes a job."},
    "release": {"type": "boolean", "description": "With background: let the job outlive this session. Only if the user asked for this."},
    "tty": {"type": "boolean", "description": "Give the command a terminal."}%s
  },
  "required": ["command"],
  "additionalProperties": false
}`

// outside is the property for sessions whose commands can ask to leave the sandbox.
const outside = `,
    "outside": {"type": "boolean", "description": "Run outside the sandbox, after the user's approval. Only for a command that the sandbox denied."}`

func (c Config) schema() string {
	more := ""
	if c.Outside {
		more = outside
	}
	return fmt.Sprintf(schema, c.Timeout.Milliseconds(), c.MaxTimeout.Milliseconds(), more)
}

func (c Config) describe() string {
	m := c.machine.Machine()
	var b strings.Builder
	fmt.Fprintf(&b, "Run a command with %s -c and wait for it to exit. Its input is empty. "+
		"Returns standard output and error together; long output is shortened in the middle and names the file with the full output. "+
		"Processes that remain (\"server &\", or background) become a job: see the tool job. All other processes end with the command. "+
		"Each call is a new shell: directories and variables do not persist.", cmp.Or(m.Shell, "sh"))
	if c.Outside {
		b.WriteString(
			" Unless the user has turned it off, commands run in a sandbox: they can change files only in the working directory and in $TMPDIR, cannot read the rest of the home directory, " +
				"and may have no network, or only some hosts through the proxy in HTTPS_PROXY. The end of the output names what the sandbox denied; then use outside to ask the user to run the command without it. " +
				"In the sandbox, the repository (.git) is read-only: put git commands that change it into a call of their own, with nothing else but cd; settle asks the user to run that call outside.",
		)
	}
	if len(m.Withheld) > 0 {
		fmt.Fprintf(&b, " These environment variables are withheld from commands: %s.", strings.Join(m.Withheld, ", "))
	}
	return b.String()
}

// check returns an error for a call that cannot run.
func (a Arguments) check() error {
	if strings.TrimSpace(a.Command) == "" {
		return fmt.Errorf("cannot run a command: it is empty")
	}
	if a.Release && !a.Background {
		return fmt.Errorf("cannot release the command: release needs background")
	}
	return nil
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

// title describes a call in one line.
func (a Arguments) title() string {
	if a.check() != nil {
		return "shell"
	}
	first, _, more := strings.Cut(strings.TrimSpace(a.Command), "\n")
	if more {
		first += " …"
	}
	return first
}
