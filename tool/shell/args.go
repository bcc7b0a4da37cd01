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
    "description": {"type": "string", "description": "Its purpose, in a few words."},
    "background": {"type": "boolean", "description": "Do not wait: start a job, for servers and watchers."},
    "yield_ms": {"type": "integer", "minimum": 1, "description": "Wait this long; what still runs becomes a job."},
    "release": {"type": "boolean", "description": "With background: the job outlives the session. Only if the user asks."},
    "tty": {"type": "boolean", "description": "Run it in a terminal."}%s
  },
  "required": ["command"],
  "additionalProperties": false
}`

// outside is the property for sessions whose commands can ask to leave the sandbox.
const outside = `,
    "outside": {"type": "boolean", "description": "Run outside the sandbox, if the user approves. Only for what the sandbox denied."}`

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
		"Returns stdout and stderr together; long output is shortened in the middle and names the file with all of it. "+
		"What remains (\"&\", background) becomes a job: see the tool job. "+
		"Each call is a new shell: directories and variables do not persist.", cmp.Or(m.Shell, "sh"))
	if c.Outside || c.Unasked {
		where, then := "only", "; then ask to run the command with outside. In the sandbox, .git is read-only: "+
			"put git commands that change it into a call of their own, with at most a cd; settle asks the user "+
			"to run that call outside."
		if c.Unasked {
			where, then = "at most", ". Nobody is asked to let a command run outside, and .git is read-only."
		}
		fmt.Fprintf(&b, " Unless the user turned it off, commands run in a sandbox: they change files %s in the "+
			"working directory and $TMPDIR, cannot read the rest of the home directory, and may reach no network, "+
			"or only some hosts through HTTPS_PROXY. The end of the output names what the sandbox denied%s",
			where, then)
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
