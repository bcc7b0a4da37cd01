package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
	"github.com/settle-agent/settle/internal/frontend/compat/exec"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const execHelp = `Run one prompt for programs that were written for "codex exec": the same
arguments, and the same lines with --json. For @openai/codex-sdk, set
codexPathOverride.

The prompt is the argument or, with none or with "-", standard input. With --json,
standard output gets one JSON object per line, and the last one is always
turn.completed or turn.failed. Otherwise standard output gets the final answer,
and standard error shows progress.

Without --sandbox and --permission the session is read-only. On Linux, the kernel
holds commands to the mode (docs/sandbox.md). Elsewhere settle judges each call
before it runs. docs/clients/codex-sdk.md says what each mode allows.

The exit codes are the same as for "settle run".`

const execExamples = `  settle exec --json -s workspace-write "fix the failing test"
  settle exec resume --last "and now the documentation"
  git diff | settle exec -m gpt-5 --output-schema schema.json "review this"`

// execFlags are the flags of exec that are not settings.
type execFlags struct {
	codex.Flags
	dir              string
	json, oldJSON    bool
	output           string
	schema           string
	images           []string
	ephemeral        bool
	take             bool
	last, everywhere bool
}

func newExec(s *streams) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:     "exec [flags] [PROMPT | - | resume ID [PROMPT] | resume --last [PROMPT]]",
		Short:   "Run a prompt as \"codex exec\" does",
		Long:    execHelp,
		Example: execExamples,
		Aliases: []string{"e"},
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := f.run(cmd, s, args)
			if err != nil && f.asJSON() {
				refuse(s, err)
			}
			if err == nil && code != stdio.CodeCompleted {
				return &exitError{code: code} // the command has printed the cause
			}
			return err
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = mistakenFlag(cmd, err)
		if slices.Contains(os.Args, "--json") || slices.Contains(os.Args, "--experimental-json") {
			refuse(s, err)
		}
		return err
	})
	cmd.Flags().StringVarP(&f.Sandbox, "sandbox", "s", "",
		"sandbox `MODE`: read-only, workspace-write, danger-full-access")
	// instead of settle's own
	settingFlags(cmd.Flags())
	f.define(cmd.Flags())
	return cmd
}

// refuse prints on standard output, as standard error does, that there is no turn.
func refuse(s *streams, err error) {
	var exit *exitError
	if errors.As(err, &exit) && exit.err != nil {
		err = exit.err
	}
	_, _ = s.stdout.Write(exec.Refusal(redact.Diagnostic(err.Error()))) // the exit code reports the error in any case
}

func (f *execFlags) define(flags *pflag.FlagSet) {
	flags.Lookup("model").Usage = "use the model `NAME` or PROVIDER/NAME"
	flags.StringVarP(&f.dir, "cd", "C", ".", "work in `DIR`")
	flags.BoolVar(&f.json, "json", false, "print one JSON object per line")
	flags.BoolVar(&f.oldJSON, "experimental-json", false, "same as --json")
	flags.StringVarP(&f.output, "output-last-message", "o", "", "also write the final answer to `FILE`")
	flags.StringVar(&f.schema, "output-schema", "", "ask for an answer that follows the JSON Schema in `FILE`")
	flags.StringArrayVarP(&f.images, "image", "i", nil, "attach the image or PDF in `FILE`; repeatable")
	flags.StringArrayVarP(&f.Config, "config", "c", nil, "override a Codex setting, as `KEY=VALUE`; repeatable")
	flags.BoolVar(&f.FullAuto, "full-auto", false, "same as --sandbox workspace-write")
	flags.BoolVar(&f.FullAuto, "approve-for-me", false, "same as --sandbox workspace-write")
	flags.BoolVar(&f.Bypass, "dangerously-bypass-approvals-and-sandbox", false, "same as --sandbox danger-full-access")
	flags.BoolVar(&f.Bypass, "yolo", false, "same as --sandbox danger-full-access")
	flags.StringArrayVar(&f.AddDirs, "add-dir", nil, "also allow changes to files in `DIR`; repeatable")
	flags.BoolVar(&f.OSS, "oss", false, "use a model server on this machine")
	flags.StringVar(&f.LocalProvider, "local-provider", "", "with --oss, the server's `NAME`: ollama or lmstudio")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "do not keep the session")
	flags.BoolVar(&f.take, "take", false, takeHelp)
	flags.BoolVar(&f.last, "last", false, "with resume: the last session of this directory")
	flags.BoolVar(&f.everywhere, "all", false, "with resume --last: the last session of any directory")
	for _, name := range execIgnored() {
		flags.Bool(name, false, "accepted without effect")
	}
	for _, name := range execUnfit() {
		flags.Bool(name, false, "not supported, ignored with a warning")
	}
	for _, name := range execUnfitValues() {
		flags.StringArray(name, nil, "not supported, ignored with a warning: `VALUE`")
	}
	flags.String("color", "auto", "accepted without effect: `WHEN`")
	flags.StringP("profile", "p", "", "not supported, ignored with a warning: `NAME`")
}

// execIgnored are flags that change nothing: settle always behaves as they ask.
func execIgnored() []string {
	return []string{"skip-git-repo-check", "ignore-user-config", "ignore-rules", "strict-config"}
}

// execUnfit and execUnfitValues are flags that settle refuses.
func execUnfit() []string {
	return []string{"dangerously-bypass-hook-trust", "worktree", "trust"}
}

func execUnfitValues() []string {
	return []string{"enable", "disable", "thread-source", "cyber-access-program"}
}

// run prepares and runs a turn. An error means that settle called no model.
func (f *execFlags) run(cmd *cobra.Command, s *streams, args []string) (int, error) {
	dash := cmd.ArgsLenAtDash()
	if dash > 0 && len(f.images) > 0 && args[0] != "resume" { // -i ONE TWO -- PROMPT
		f.images, args, dash = append(f.images, args[:dash]...), args[dash:], 0
	}
	words, err := exec.Read(args, f.last, dash)
	if err != nil {
		return 0, err
	}
	dir, err := directory(f.dir)
	if err != nil {
		return 0, err
	}
	configured, err := s.settings(dir, nil, config.UseProject)
	if err != nil {
		return 0, err
	}
	spec, err := f.understand(cmd, s, configured)
	if err != nil {
		return 0, err
	}
	s = s.with(spec.Env, spec.Hidden)
	in := s.protocolServer(cmd, assemble.Options{
		HostOptions:       assemble.HostOptions{Frontend: "exec", Take: f.take, AtEnd: settle.AwaitTasks},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Ask, Sandbox: assemble.SandboxByMode},
	})
	defer in.release()
	options, err := f.options(in, s, words)
	if err != nil {
		return 0, in.instead(err)
	}
	a, err := in.hosts.Agent(in.ctx, f.agent(cmd, spec, dir, configured))
	if err != nil {
		return 0, in.instead(err)
	}
	if options.Session, err = f.session(in.ctx, words, a); err != nil {
		return 0, in.instead(err)
	}
	options.Mask, options.Notes, options.Stops = a.Redact.Diagnostic, a.Notes, in.stops
	options.Config, options.Expand = a.Session, expansion(a)
	if options.Host, err = s.telemetry.Open(cmd.Context(), a.Host); err != nil {
		return 0, err
	}
	if len(spec.Ignored) > 0 {
		s.say(fmt.Errorf("warning: not supported, and ignored: %s", strings.Join(spec.Ignored, ", ")))
	}
	if f.asJSON() {
		return oneturn.Run(
			cmd.Context(), options.Options, func(stage oneturn.Stage) oneturn.View { return exec.NewView(stage.Write) },
		), nil
	}
	announce(s, options, a)
	return run.Turn(cmd.Context(), options), nil
}

// understand reads Codex's flags and overrides.
func (f *execFlags) understand(cmd *cobra.Command, s *streams, r *config.Resolved) (*codex.Spec, error) {
	f.Model = cmd.Flag("model").Value.String()
	spec, err := codex.Understand(f.Flags, codex.Known{
		Model: r.Model, Getenv: s.getenv,
		Provider: func(name string) (string, bool) { p, ok := r.Providers[name]; return p.Model, ok },
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(execUnfit(), execUnfitValues(), []string{"profile"}) {
		if cmd.Flags().Changed(name) {
			spec.Ignored = append(spec.Ignored, "--"+name)
		}
	}
	return spec, nil
}

// with returns the streams with variables of the environment replaced, and hides
// variables from commands.
func (s *streams) with(env map[string]string, hidden []string) *streams {
	c := *s
	c.getenv = func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		return s.getenv(name)
	}
	c.environ = slices.DeleteFunc(slices.Clone(s.environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(hidden, name)
	})
	return &c
}

// agent returns the specification of the session. The client's sandbox mode is its
// policy; without one, settle's own permission applies.
func (f *execFlags) agent(cmd *cobra.Command, spec *codex.Spec, dir string, r *config.Resolved) assemble.SessionSpec {
	w := assemble.SessionSpec{Dir: dir, Settings: spec.Settings, By: assemble.User}
	mode := exec.Mode(spec.Sandbox, spec.Approval, f.writable(dir, spec.Writable))
	if spec.Network {
		mode.Extent.Network = "on"
	}
	_, own := w.Settings["permission"]
	switch {
	case own || cmd.Flags().Changed("permission"):
		mode = assemble.Mode{} // settle's own permission applies
	case mode.Name == "" && r.Permission == "":
		mode = exec.Mode(codex.ReadOnly, "", codex.Folders{})
	case mode.Permission == settle.Allow:
		w.Settings["permission"] = string(settle.Allow) // the client named it
	}
	w.Options = func(o *assemble.Options) {
		o.Append, o.SystemFile, o.Approver = spec.Instructions, spec.SystemFile, exec.DenyAll{Mode: string(settle.Ask)}
		o.Unasked = true
		if f.ephemeral {
			o.Keeping = assemble.Ephemeral
		}
		if mode.Name == "" {
			return
		}
		o.Policy, o.Approver = assemble.NewPolicy(mode), exec.DenyAll{Mode: mode.Name}
		if mode.Permission == settle.Allow {
			o.Release = settle.Allow
		}
	}
	return w
}

// writable returns the directories, besides the working directory, that commands can
// write.
func (f *execFlags) writable(dir string, named []string) codex.Folders {
	folders := codex.Folders{Temporary: []string{os.TempDir()}}
	if tmp := "/tmp"; !slices.Contains(folders.Temporary, tmp) && filepath.IsAbs(tmp) {
		folders.Temporary = append(folders.Temporary, tmp)
	}
	for _, name := range named {
		folders.Added = append(folders.Added, disk.AbsoluteIn(dir, name))
	}
	return folders
}

// options returns the prompt and the output format of the run.
func (f *execFlags) options(in *protocolServer, s *streams, words exec.Arguments) (run.Options, error) {
	o := run.Options{
		Options: oneturn.Options{Stdout: s.stdout, Stderr: s.stderr, Exit: os.Exit},
		Format:  run.Plain,
		Volume:  run.Verbose,
	}
	if isTerminal(s.stdout) {
		o.Format = run.Terminal
	}
	if !f.ephemeral {
		o.Resume = func(session string) string { return fmt.Sprintf("settle exec resume %s PROMPT", session) }
	}
	for _, path := range strings.FieldsFunc(strings.Join(f.images, ","), func(r rune) bool { return r == ',' }) {
		if err := o.Add(path); err != nil {
			return o, err
		}
	}
	var err error
	if o.Schema, err = readSchema(f.schema); err != nil {
		return o, err
	}
	if o.Prompt, _, err = oneturn.Prompt(in.ctx, words.Prompt, s.stdin, isTerminal(s.stdin)); err != nil {
		return o, err
	}
	if f.output != "" {
		o.Answer, err = oneturn.AnswerFile(f.output)
	}
	return o, err
}

// maxSchema is the maximum size of a schema in bytes.
const maxSchema = 1 << 20

func readSchema(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := disk.ReadRegular(path, maxSchema)
	if err != nil {
		return nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("cannot use the schema in %q: it is not a JSON object: %w", path, err)
	}
	return raw, nil
}

// session returns the id of the session to continue, or of a new session.
func (f *execFlags) session(ctx context.Context, words exec.Arguments, a *assemble.Agent) (string, error) {
	if !words.Resume {
		return settle.NewSessionID(), nil
	}
	if f.ephemeral {
		return "", errors.New("--ephemeral cannot continue a session")
	}
	dir := a.Session.WorkDir
	if f.everywhere {
		dir = ""
	}
	return words.Find(ctx, a.Host.DataDir, dir)
}

// asJSON reports whether the client asked for JSON lines.
func (f *execFlags) asJSON() bool { return f.json || f.oldJSON }

// announce prints the settings in force on standard error, as Codex does.
func announce(s *streams, o run.Options, a *assemble.Agent) {
	approver, _ := a.Session.Approver.(exec.DenyAll)
	sandbox := approver.Mode
	if sandbox == "" || sandbox == string(settle.Ask) {
		sandbox = "none; permission: " + string(a.Session.Permission)
	}
	for _, line := range []string{
		"settle " + version(), "--------", "workdir: " + a.Session.WorkDir, "model: " + a.Session.Model.Name, "provider: " + a.Session.Model.ProviderName,
		"approval: never", "sandbox: " + sandbox, "reasoning effort: " + cmp.Or(a.Session.Model.Effort, "default"), "session id: " + o.Session, "--------",
	} {
		fmt.Fprintln(s.stderr, terminal.Text(line))
	}
}

// instead returns the error of an earlier stop, or err.
func (in *protocolServer) instead(err error) error {
	return (&signals{ctx: in.ctx}).instead(err)
}
