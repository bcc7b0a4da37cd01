package config

import (
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk/changes"
)

// Values of ExecutorInstall.
const (
	InstallNever   = "never"
	InstallMissing = "missing"
)

// Settings are the values in force.
type Settings struct {
	// Model is PROVIDER/NAME; if it is empty, Resolved.Choose chooses.
	Model string
	// FallbackModel is PROVIDER/NAME of the model that continues a turn; empty for none.
	FallbackModel string
	// BaseURL replaces the address of the chosen provider; from a flag only.
	BaseURL string
	// Effort is an effort of model.Request; empty for the model's default.
	Effort string
	// Permission applies to calls that no rule decides; empty for the frontend's default.
	Permission event.Permission
	// Mode is a mode of event.ModeTerms in which the terminal and "settle run" begin, if it is more than
	// Permission: accept-edits or plan. For other frontends, Permission alone applies.
	Mode string
	// MaxSteps bounds the model's responses in a turn; 0 for no limit.
	MaxSteps int
	// MaxRepeats ends a turn after this many equal calls with equal results; 0 for no
	// limit.
	MaxRepeats int
	// Compact is the kind of compaction when the model's window is nearly full: auto,
	// mechanical or off.
	Compact string
	// Timeout bounds a turn; 0 for no limit.
	Timeout time.Duration
	// MaxTokens and MaxCost, in US dollars, bound the usage of a turn; 0 for no limit.
	MaxTokens int
	MaxCost   float64
	// Limits of the whole session with its child agents; 0 for no limit.
	MaxSessionSteps  int
	MaxSessionTime   time.Duration
	MaxSessionTokens int
	MaxSessionCost   float64
	// StallTimeout, HeaderTimeout and ThinkingTimeout are the configured values;
	// Resolved.Watchdog returns the values in force.
	StallTimeout    time.Duration
	HeaderTimeout   time.Duration
	ThinkingTimeout time.Duration
	// AttemptTimeout bounds a whole response; 0 for no limit.
	AttemptTimeout time.Duration
	// Retries replaces the default numbers of retries; negative for the defaults.
	Retries int
	// RetryFor bounds the retries of a provider that is overloaded or unreachable.
	RetryFor time.Duration
	// Tools are the names of the offered tools; nil for all, empty for none.
	Tools []string
	// ToolFamily decides the tools' names: "auto", or a family of package tool/family.
	ToolFamily string
	// PassEnv are names of variables with provider keys that tools receive.
	PassEnv []string
	// KeepEnv are names of variables that look like credentials and that commands receive
	// even without an approval; "*" matches any characters.
	KeepEnv []string
	// MCPImport are the agents whose MCP server files are also read.
	MCPImport []string
	// RulesImport are the agents whose permission rules are also read.
	RulesImport []string
	// DataDir is absolute; empty if the environment names no directory.
	DataDir string
	// LogLevel is debug, info, warn or error.
	LogLevel string
	Jobs     Jobs
	Review   Review
	Tasks    Tasks
	Sandbox  Sandbox
	Terminal Terminal
	Web      Web
	LSP      LSP
	Rewind   Rewind
	// Executor is a command that connects to the executor; empty for this machine.
	// ExecutorLease is how long the executor continues without contact to the host.
	Executor      string
	ExecutorLease time.Duration
	// ExecutorInstall decides whether settle is copied to the executor: never, or if it is
	// missing.
	ExecutorInstall string
	// Rules decide which calls run, in order.
	Rules []Rule
	// Providers has the built-in providers and the user's own, by name.
	Providers map[string]Provider
	// Models has the user's corrections of model data, by PROVIDER/NAME.
	Models map[string]Model
	// Servers are the MCP servers, by name.
	Servers map[string]Server
	// RunHooks decides which hooks run: all, own or off.
	RunHooks string
	// Hooks are the hooks to run, in order.
	Hooks []Hook
}

// Jobs decides what happens to processes that calls leave running.
type Jobs struct {
	Release     event.Permission // empty for the frontend's default
	OnInterrupt string           // keep or end
	OnExit      string           // end or release
}

// Review configures the reviewer of the permission "review".
type Review struct {
	Model     string        // PROVIDER/NAME; empty for the session's own model
	MaxCalls  int           // reviews of a session; 0 for no limit
	MaxTokens int           // of all reviews of a session, input and output; 0 for no limit
	MaxCost   float64       // of all reviews of a session, in US dollars; 0 for no limit
	Timeout   time.Duration // of one review
}

// Tasks bounds child agents.
type Tasks struct {
	Depth      int           // generations; 0 for no child agents
	AtOnce     int           // running at the same time, for each session
	PerSession int           // in total
	Timeout    time.Duration // of each turn of a child agent
}

// Sandbox is the sandbox of commands, and how strictly it is required.
type Sandbox struct {
	Use     string        // off, auto or required; empty for the frontend's default
	Mode    event.Sandbox // read-only or workspace
	Network string        // off, proxy or on
	// Git decides whether sandboxed commands can change the repository: GitReadOnly or
	// GitWrite.
	Git string
	// Hosts are the hosts that sandboxed commands can reach through the egress proxy.
	Hosts []string
	// Read and Write are files and folders in addition to the mode's own; "~/" is the home
	// directory.
	Read, Write []string
}

// Values of Sandbox.Use.
const (
	SandboxOff      = "off"
	SandboxAuto     = "auto"
	SandboxRequired = "required"
)

// Values of Sandbox.Git.
const (
	GitReadOnly = "read-only"
	GitWrite    = "write"
)

// LSP configures language servers.
type LSP struct {
	// Use is on, auto (only in a sandbox, or if every call is allowed) or off.
	Use string
	// Servers are the names of the servers that can start.
	Servers []string
	// Timeout bounds how long an edit waits for the new errors; 0 does not report them.
	Timeout time.Duration
}

// Values of LSP.Use.
const (
	LSPOn   = "on"
	LSPAuto = "auto"
	LSPOff  = "off"
)

// LanguageServers are the names of the servers that settle knows.
func LanguageServers() []string {
	return []string{"gopls", "typescript-language-server", "pyright-langserver", "rust-analyzer"}
}

// Rewind decides which changes of commands settle records, so that a rewind can undo them.
type Rewind struct {
	Commands string        // on or off
	MaxFiles int           // of the working directory; 0 for the default
	MaxBytes int           // of copies; 0 for the default
	Timeout  time.Duration // of a look at the files; 0 for the default
}

// Values of Rewind.Commands.
const (
	RewindOn  = "on"
	RewindOff = "off"
)

// Web configures the web tools.
type Web struct {
	// Private are the private addresses that web_fetch can reach.
	Private []string
	// Search selects the search service: SearchOff, SearchProvider or SearchCommand.
	Search string
	// SearchCommand is the command that searches.
	SearchCommand []string
}

// Values of Web.Search.
const (
	SearchOff      = "off"
	SearchProvider = "provider" // the provider of the model
	SearchCommand  = "command"
)

// Model is the user's data about a model; a zero or nil field keeps settle's data.
type Model struct {
	Window    int // tokens
	MaxOutput int // tokens
	Images    *bool
	Documents *bool // PDFs
	Thinking  *bool
	// ToolFamily names the tools that the model was trained on; empty for settle's data.
	ToolFamily string
	Price      *Price
}

// Price is the price of a model in US dollars per million tokens.
type Price struct{ Input, CacheRead, CacheWrite, Output float64 }

func defaults() Settings {
	return Settings{
		MaxRepeats:      10,
		ToolFamily:      "auto",
		Compact:         "auto",
		StallTimeout:    180 * time.Second,
		HeaderTimeout:   600 * time.Second,
		ThinkingTimeout: 15 * time.Minute,
		AttemptTimeout:  time.Hour,
		Retries:         -1,
		RetryFor:        10 * time.Minute,
		LogLevel:        "info",
		MCPImport:       []string{claudeAgent, codexAgent},
		RulesImport:     []string{claudeAgent},
		RunHooks:        HooksAll,
		ExecutorLease:   30 * time.Second,
		ExecutorInstall: InstallNever,
		Jobs:            Jobs{OnInterrupt: "keep", OnExit: "end"},
		Review:          Review{MaxCalls: 200, MaxTokens: 1_000_000, Timeout: 30 * time.Second},
		Tasks:           Tasks{Depth: 2, AtOnce: 8, PerSession: 32, Timeout: time.Hour},
		Sandbox:         Sandbox{Mode: event.Workspace, Network: "off"},
		Web:             Web{Search: SearchOff},
		LSP:             LSP{Use: LSPAuto, Servers: LanguageServers(), Timeout: 5 * time.Second},
		Rewind: Rewind{
			Commands: RewindOn, MaxFiles: changes.DefaultFiles, MaxBytes: changes.DefaultBytes,
			Timeout: changes.DefaultTime,
		},
		Terminal:  Terminal{Theme: "auto", Notify: "bell", Links: "auto", Host: HostInside},
		Providers: builtin(),
		Models:    map[string]Model{},
	}
}

// rule decides how a project's own file can use a setting.
type rule string

const (
	refused  rule = "refused"  // not at all
	fills    rule = "fills"    // it can set a value that the user has not set
	tightens rule = "tightens" // it can set a tighter value
)

// setting is the declaration of one setting.
type setting struct {
	key     string // in a file; flags use dashes
	env     string // environment variable; empty for none
	project rule
	set     func(s *Settings, value any) error
	get     func(s *Settings) any
	// looseness orders values for a project's file: a greater value is looser. A list has none:
	// a project's file can only shorten it, and nil is everything.
	looseness func(s *Settings) float64
	list      func(s *Settings) *[]string
}

func settings() []*setting {
	return slices.Concat([]*setting{
		text("model", func(s *Settings) *string { return &s.Model }).from("SETTLE_MODEL").may(fills),
		text("fallback_model", func(s *Settings) *string { return &s.FallbackModel }).
			from("SETTLE_FALLBACK_MODEL").may(fills),
		choice("effort", func(s *Settings) *string { return &s.Effort },
			"max", "xhigh", "high", "medium", "low", "minimal", "none").may(fills),
		permission("permission", func(s *Settings) *event.Permission { return &s.Permission }).
			from("SETTLE_PERMISSION").may(tightens),
		count("max_steps", func(s *Settings) *int { return &s.MaxSteps }).may(tightens),
		count("max_repeats", func(s *Settings) *int { return &s.MaxRepeats }).may(tightens),
		count("max_tokens", func(s *Settings) *int { return &s.MaxTokens }).may(tightens),
		dollars("max_cost", func(s *Settings) *float64 { return &s.MaxCost }).may(tightens),
		count("max_session_steps", func(s *Settings) *int { return &s.MaxSessionSteps }).may(tightens),
		duration("max_session_time", func(s *Settings) *time.Duration { return &s.MaxSessionTime }).may(tightens),
		count("max_session_tokens", func(s *Settings) *int { return &s.MaxSessionTokens }).may(tightens),
		dollars("max_session_cost", func(s *Settings) *float64 { return &s.MaxSessionCost }).may(tightens),
		choice("compact", func(s *Settings) *string { return &s.Compact }, "auto", "mechanical", "off").may(fills),
		duration("timeout", func(s *Settings) *time.Duration { return &s.Timeout }).may(tightens),
		duration("stall_timeout", func(s *Settings) *time.Duration { return &s.StallTimeout }).
			from("SETTLE_STALL_TIMEOUT_MS").may(tightens),
		duration("header_timeout", func(s *Settings) *time.Duration { return &s.HeaderTimeout }).
			from("SETTLE_HEADER_TIMEOUT_MS").may(tightens),
		duration("thinking_timeout", func(s *Settings) *time.Duration { return &s.ThinkingTimeout }).may(tightens),
		duration("attempt_timeout", func(s *Settings) *time.Duration { return &s.AttemptTimeout }).may(tightens),
		retries("retries", func(s *Settings) *int { return &s.Retries }).may(tightens),
		budget("retry_for", func(s *Settings) *time.Duration { return &s.RetryFor }).may(tightens),
		names("tools", func(s *Settings) *[]string { return &s.Tools }).may(tightens),
		choice("tool_family", func(s *Settings) *string { return &s.ToolFamily },
			append([]string{"auto"}, toolFamilies()...)...).may(fills),
		names("pass_env", func(s *Settings) *[]string { return &s.PassEnv }).may(refused),
		names("keep_env", func(s *Settings) *[]string { return &s.KeepEnv }).may(refused),
		namesOf("mcp_import", func(s *Settings) *[]string { return &s.MCPImport }, claudeAgent,
			codexAgent).may(refused),
		namesOf("rules_import", func(s *Settings) *[]string { return &s.RulesImport }, claudeAgent).may(refused),
		text("data_dir", func(s *Settings) *string { return &s.DataDir }).from("SETTLE_DATA_DIR").may(refused),
		choice("log_level", func(s *Settings) *string { return &s.LogLevel }, "debug", "info", "warn",
			"error").may(refused),
		choice("run_hooks", func(s *Settings) *string { return &s.RunHooks }, HooksAll, HooksOwn,
			HooksOff).may(refused),
		text("executor", func(s *Settings) *string { return &s.Executor }).may(refused),
		choice("executor_install", func(s *Settings) *string { return &s.ExecutorInstall }, InstallNever,
			InstallMissing).may(refused),
		duration("executor_lease", func(s *Settings) *time.Duration { return &s.ExecutorLease }).may(refused),
		choice("jobs.release", func(s *Settings) *event.Permission { return &s.Jobs.Release },
			permissions()...).may(tightens),
		choice("jobs.on_interrupt", func(s *Settings) *string { return &s.Jobs.OnInterrupt }, "keep",
			"end").may(tightens),
		choice("jobs.on_exit", func(s *Settings) *string { return &s.Jobs.OnExit }, "release", "end").may(tightens),
		bound("tasks.depth", func(s *Settings) *int { return &s.Tasks.Depth }).may(tightens),
		bound("tasks.at_once", func(s *Settings) *int { return &s.Tasks.AtOnce }).may(tightens),
		bound("tasks.per_session", func(s *Settings) *int { return &s.Tasks.PerSession }).may(tightens),
		duration("tasks.timeout", func(s *Settings) *time.Duration { return &s.Tasks.Timeout }).may(tightens),
		choice("sandbox.use", func(s *Settings) *string { return &s.Sandbox.Use }, SandboxOff, SandboxAuto,
			SandboxRequired).
			from("SETTLE_SANDBOX").may(tightens),
		choice("sandbox.mode", func(s *Settings) *event.Sandbox { return &s.Sandbox.Mode }, string(event.Workspace),
			string(event.ReadOnly)).may(tightens),
		choice("sandbox.network", func(s *Settings) *string { return &s.Sandbox.Network }, "on", "proxy",
			"off").may(tightens),
		choice("sandbox.git", func(s *Settings) *string { return &s.Sandbox.Git }, GitWrite, GitReadOnly).may(tightens),
		hosts("sandbox.allow_hosts", func(s *Settings) *[]string { return &s.Sandbox.Hosts }).may(refused),
		names("sandbox.read", func(s *Settings) *[]string { return &s.Sandbox.Read }).may(refused),
		names("sandbox.write", func(s *Settings) *[]string { return &s.Sandbox.Write }).may(refused),
		addresses("web.allow_private", func(s *Settings) *[]string { return &s.Web.Private }).may(refused),
		choice("web.search", func(s *Settings) *string { return &s.Web.Search }, SearchOff, SearchProvider,
			SearchCommand).may(refused),
		names("web.search_command", func(s *Settings) *[]string { return &s.Web.SearchCommand }).may(refused),
	}, reviewSettings(), terminalSettings(), languageSettings(), rewindSettings())
}

// reviewSettings are the settings of reviewed approvals.
func reviewSettings() []*setting {
	return []*setting{
		text("review.model", func(s *Settings) *string { return &s.Review.Model }).may(refused),
		count("review.max_calls", func(s *Settings) *int { return &s.Review.MaxCalls }).may(tightens),
		count("review.max_tokens", func(s *Settings) *int { return &s.Review.MaxTokens }).may(tightens),
		dollars("review.max_cost", func(s *Settings) *float64 { return &s.Review.MaxCost }).may(tightens),
		duration("review.timeout", func(s *Settings) *time.Duration { return &s.Review.Timeout }).may(tightens),
	}
}

// terminalSettings are the settings of the terminal.
func terminalSettings() []*setting {
	return []*setting{
		choice("terminal.theme", func(s *Settings) *string { return &s.Terminal.Theme }, "auto", "default", "light",
			"dark", "none").may(refused),
		choice("terminal.notify", func(s *Settings) *string { return &s.Terminal.Notify }, "bell", "osc9", "osc777",
			"off").may(refused),
		terminalKeys("terminal.keys").may(refused),
		statusLine("terminal.status_line").may(refused),
		names("terminal.status_command", func(s *Settings) *[]string { return &s.Terminal.StatusCommand }).may(refused),
		choice("terminal.links", func(s *Settings) *string { return &s.Terminal.Links }, "auto", "on",
			"off").may(refused),
		choice("terminal.host", func(s *Settings) *string { return &s.Terminal.Host }, HostInside,
			HostOwn).may(refused),
	}
}

// languageSettings are the settings of language servers.
func languageSettings() []*setting {
	return []*setting{
		choice("lsp.use", func(s *Settings) *string { return &s.LSP.Use }, LSPOn, LSPAuto, LSPOff).may(tightens),
		namesOf("lsp.servers", func(s *Settings) *[]string { return &s.LSP.Servers }, LanguageServers()...).
			may(tightens),
		duration("lsp.timeout", func(s *Settings) *time.Duration { return &s.LSP.Timeout }).may(refused),
	}
}

// rewindSettings are the settings of the record of changed files.
func rewindSettings() []*setting {
	return []*setting{
		choice("rewind.commands", func(s *Settings) *string { return &s.Rewind.Commands }, RewindOn,
			RewindOff).may(refused),
		count("rewind.max_files", func(s *Settings) *int { return &s.Rewind.MaxFiles }).may(refused),
		count("rewind.max_bytes", func(s *Settings) *int { return &s.Rewind.MaxBytes }).may(refused),
		duration("rewind.timeout", func(s *Settings) *time.Duration { return &s.Rewind.Timeout }).may(refused),
	}
}

func (k *setting) from(variable string) *setting {
	k.env = variable
	return k
}

func (k *setting) may(r rule) *setting {
	k.project = r
	return k
}
