package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
)

// Format is a format of the input or the output.
type Format string

// The formats.
const (
	Text       Format = "text"
	JSON       Format = "json"        // the result alone
	StreamJSON Format = "stream-json" // a message a line
)

// Options are the client's command line options.
type Options struct {
	// Prompt is the prompt to answer, unless Input is a stream of messages.
	Prompt        string
	Input, Output Format
	// Partial requests deltas. Replay requests a copy of each input message.
	Partial, Replay bool
	// Asks reports that the client decides which calls can run.
	Asks bool
	// Mode is the permission mode; "" leaves it to the configuration. MayBypass reports that the
	// client can later choose the mode that allows everything.
	Mode      string
	MayBypass bool

	Model string
	// Fallback is the fallback model.
	Fallback string
	Effort   string
	// Tools are the names of the offered tools, as Claude names them; nil offers all tools.
	Tools                     []string
	Allowed, Disallowed       []string
	AddDirs                   []string
	System                    *string
	Append                    string
	Schema                    string
	Resume                    string
	Continue, Fork, Ephemeral bool
	SessionID                 string
	// MaxTurns is the unparsed number.
	MaxTurns string
	// MaxBudget is the unparsed amount.
	MaxBudget string
	// Servers are the requested MCP servers, and OwnServers the names of the servers that run in
	// the client. OnlyServers reports that there are no others.
	Servers     []config.Server
	OwnServers  []string
	OnlyServers bool
	// Warnings are warnings about the client's options.
	Warnings []string
}

// arity is the number of values that follow a flag without "=".
type arity string

const (
	nothing arity = "nothing"
	one     arity = "one"
	maybe   arity = "maybe" // one, unless it begins with a dash
	many    arity = "many"  // all up to the next dash
)

// unusedFlag is a flag of Claude's that is taken without having an effect.
type unusedFlag struct {
	arity arity
	why   string // the warning about the flag; empty for none
}

func unused() map[string]unusedFlag {
	return map[string]unusedFlag{
		"verbose":                        {nothing, ""},
		"debug":                          {maybe, ""},
		"debug-file":                     {one, ""},
		"debug-to-stderr":                {nothing, ""},
		"include-hook-events":            {nothing, ""},
		"await-initialize":               {nothing, ""},
		"enable-auth-status":             {nothing, ""},
		"thinking-display":               {one, ""},
		"max-thinking-tokens":            {one, "settle has no thinking budget; use --effort"},
		"betas":                          {many, ""},
		"workload":                       {one, ""},
		"permission-prompts":             {one, ""},
		"project-config-root":            {one, ""},
		"task-budget":                    {one, "settle has no token budget for turns"},
		"agent":                          {one, "settle keeps its main agent; settle agents lists the others"},
		"agents":                         {one, "settle reads agents from files; settle agents lists them"},
		"channels":                       {one, "settle has no channels"},
		"plugin-dir":                     {one, "only the user adds plugins, with settle plugins add"},
		"plugin-dir-no-mcp":              {one, "only the user adds plugins, with settle plugins add"},
		"resume-session-at":              {one, "settle always continues at the end of a session"},
		"resume-drops-turn":              {one, "settle always continues at the end of a session"},
		"session-mirror":                 {nothing, "settle keeps its own logs and mirrors nothing"},
		"managed-settings":               {one, "settle reads only permissions and the model from --settings"},
		"managed-settings-in-initialize": {nothing, ""},
		"initialize-fields":              {one, ""},
		"disable-slash-commands":         {nothing, ""},
		"ide":                            {nothing, ""},
		"chrome":                         {nothing, ""},
		"no-chrome":                      {nothing, ""},
	}
}

// several are the flags that take all that follows.
func several() []string {
	return []string{"allowed-tools", "disallowed-tools", "tools", "add-dir", "mcp-config"}
}

// Arguments brings a command line into the shape that the flags can parse, and returns warnings
// about flags without effect. Claude's flags can be written in two ways (--allowedTools,
// --allowed-tools), some take all following words, and a client can use flags that settle does not
// have.
func Arguments(flags *pflag.FlagSet, args []string) (normal, warnings []string) {
	for n := 0; n < len(args); n++ {
		arg := args[n]
		if arg == "--" {
			return append(normal, args[n:]...), warnings
		}
		long, isLong := strings.CutPrefix(arg, "--")
		if !isLong {
			if arg == "-r" && n+1 < len(args) && !strings.HasPrefix(args[n+1], "-") {
				n++
				arg = "--resume=" + args[n]
			}
			normal = append(normal, arg)
			continue
		}
		name, value, hasValue := strings.Cut(long, "=")
		name = kebab(name)
		flag := flags.Lookup(name)
		how, warning := shape(flag, name)
		var values []string
		if hasValue {
			values = []string{value}
		} else {
			values = following(args[n+1:], how)
			n += len(values)
		}
		switch {
		case flag == nil && warning != "":
			warnings = append(warnings, warning)
		case flag == nil:
		case len(values) == 0:
			normal = append(normal, "--"+name)
		case name == "tools":
			normal = append(normal, "--tools="+strings.Join(values, ","))
		default:
			for _, value := range values {
				normal = append(normal, "--"+name+"="+value)
			}
		}
	}
	return normal, warnings
}

// shape returns the arity of a flag, and a warning.
func shape(flag *pflag.Flag, name string) (arity, string) {
	switch {
	case flag != nil && slices.Contains(several(), name):
		return many, ""
	case flag != nil && flag.NoOptDefVal == "":
		return one, ""
	case flag != nil && flag.Value.Type() != "bool":
		return maybe, ""
	case flag != nil:
		return nothing, ""
	}
	known, ok := unused()[name]
	switch {
	case !ok:
		return maybe, fmt.Sprintf("--%s has no effect: settle does not know it", name)
	case known.why != "":
		return known.arity, fmt.Sprintf("--%s has no effect: %s", name, known.why)
	}
	return known.arity, ""
}

func following(rest []string, how arity) []string {
	end := 0
	for end < len(rest) && !strings.HasPrefix(rest[end], "-") {
		end++
	}
	switch how {
	case one:
		end = min(1, len(rest))
	case maybe:
		end = min(1, end)
	case nothing:
		end = 0
	}
	return rest[:end]
}

// kebab is --allowedTools as --allowed-tools.
func kebab(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// document returns the content of a flag's value: JSON, or a file with it.
func document(value string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return []byte(value), nil
	}
	return disk.ReadRegular(value, maxSettings)
}

func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// maxSettings bounds a file of settings in bytes.
const maxSettings = 1 << 20

// Take applies the parts of Claude's settings that settle supports: JSON, or a file with it.
func (o *Options) Take(settings string) error {
	raw, err := document(settings)
	if err != nil {
		return fmt.Errorf("cannot read the settings: %w", err)
	}
	return o.settings(raw)
}

func (o *Options) settings(raw []byte) error {
	var in struct {
		Permissions struct {
			Allow       []string `json:"allow"`
			Deny        []string `json:"deny"`
			Mode        string   `json:"defaultMode"`
			Directories []string `json:"additionalDirectories"`
		} `json:"permissions"`
		Model string `json:"model"`
	}
	var all map[string]json.RawMessage
	if err := decode("the settings", raw, &in); err != nil {
		return err
	}
	_ = json.Unmarshal(raw, &all) // it is an object, as was just seen
	o.Allowed = append(o.Allowed, in.Permissions.Allow...)
	o.Disallowed = append(o.Disallowed, in.Permissions.Deny...)
	o.AddDirs = append(o.AddDirs, in.Permissions.Directories...)
	if o.Mode == "" {
		o.Mode = in.Permissions.Mode
	}
	if o.Model == "" {
		o.Model = in.Model
	}
	delete(all, "permissions")
	delete(all, "model")
	if len(all) > 0 {
		o.Warnings = append(
			o.Warnings,
			"settle reads permissions and model from Claude's settings, and ignores: "+strings.Join(names(all), ", "),
		)
	}
	return nil
}
