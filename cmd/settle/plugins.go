package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/plugins"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/internal/terminal"
)

const pluginsHelp = `List your plugins: folders in the layout of Claude Code with skills, commands, kinds of
child agents, hooks and MCP servers.

A plugin runs only as you trusted it. settle keeps a copy of it in the data directory,
and checks its digest. If the directory that you added has changed, the list names the
changed files; sessions use the trusted copy until you trust the change.

Plugins that the project's settings name are only mentioned.

States: ok, changed (its directory differs), disabled, unusable (its copy was changed).

Exit codes: 0 listed, 1 failed, 2 wrong usage or configuration.`

const pluginsAddHelp = `Add a plugin. SOURCE is a directory, or a git repository: an address that begins with
https://, ssh:// or file://, HOST:PATH with a user, or a local directory, with @COMMIT,
@TAG or @BRANCH after it. settle reads a bare repository with git. It copies the files,
shows everything that the plugin may run, and asks whether you trust it. Nothing of it
runs before your answer. If you trust the same content from another source, settle asks
whether updates follow the new source.

If SOURCE lists plugins (.claude-plugin/marketplace.json), settle prints the list;
--plugin NAME chooses one. Without a list, NAME is the name of a plugin that has none.

--yes adds it without asking. It needs content that cannot change: SOURCE@COMMIT with all
40 digits, or --digest with the digest that settle printed before.

Exit codes: 0 added, or your answer was no; 1 failed, 2 wrong usage or configuration,
130 interrupted.`

const pluginsShowHelp = `Show a plugin: where it comes from, its files, and everything that it may run.

Exit codes: 0 shown, 1 failed, 2 wrong usage or configuration.`

const pluginsUpdateHelp = `Fetch a plugin again, show the difference of what it may run, the changed files and a
command that shows their contents, and ask whether you trust it. REF is another commit,
tag or branch of its repository. Until your answer, sessions use the plugin as you
trusted it.

--yes needs a whole commit as REF, or --digest, as for "settle plugins add".

Exit codes: 0 updated, unchanged, or your answer was no; 1 failed, 2 wrong usage or
configuration, 130 interrupted.`

const pluginsRemoveHelp = `Remove a plugin, settle's copies of it, and the data that it stored. In open sessions,
the hooks of the plugin refuse from then on. Its MCP servers do not start or
connect again; a server that already runs stays until the session ends.

Exit codes: 0 removed, 1 failed, 2 wrong usage or configuration.`

const pluginsEnableHelp = `Use a plugin again that was disabled. Sessions that are open do not change.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.`

const pluginsDisableHelp = `Keep a plugin, but do not use it. Sessions that are open do not change.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.`

// pluginsFlags are the flags of plugins and its commands.
type pluginsFlags struct {
	place                placeFlags
	asJSON, yes          bool
	digest, path, plugin string
}

func newPlugins(s *streams) *cobra.Command {
	var f pluginsFlags
	cmd := &cobra.Command{
		Use: "plugins [flags]", Short: "List, add and update plugins", Long: pluginsHelp, Args: cobra.NoArgs,
		Example: "  settle plugins\n  settle plugins add ./my-plugin\n" +
			"  settle plugins add https://github.com/anthropics/claude-code --plugin code-review",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.list(cmd, s) },
	}
	f.show(cmd)
	cmd.AddCommand(newPluginsAdd(s), newPluginsShow(s), newPluginsUpdate(s), newPluginsRemove(s),
		newPluginsSwitch(s, "enable", "Use a disabled plugin again", pluginsEnableHelp, true),
		newPluginsSwitch(s, "disable", "Keep a plugin without using it", pluginsDisableHelp, false))
	return cmd
}

func (f *pluginsFlags) show(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(cmd.Flags())
}

func (f *pluginsFlags) trust(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "trust it without asking")
	cmd.Flags().StringVar(&f.digest, "digest", "", "accept only content with the digest `SHA256`")
	f.place.define(cmd.Flags())
}

func newPluginsAdd(s *streams) *cobra.Command {
	var f pluginsFlags
	cmd := &cobra.Command{
		Use: "add [flags] SOURCE", Short: "Show a plugin, and add it if you trust it", Long: pluginsAddHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sig := catch(cmd.Context())
			defer sig.release()
			return sig.instead(f.add(sig.ctx, cmd, s, args[0]))
		},
	}
	f.trust(cmd)
	cmd.Flags().StringVar(&f.path, "path", "", "use the folder `DIR` of the source")
	cmd.Flags().StringVar(&f.plugin, "plugin", "", "use the plugin `NAME` of the source's list")
	return cmd
}

func newPluginsShow(s *streams) *cobra.Command {
	var f pluginsFlags
	cmd := &cobra.Command{
		Use: "show [flags] NAME", Short: "Show everything that a plugin may run", Long: pluginsShowHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.showOne(cmd, s, args[0]) },
	}
	f.show(cmd)
	return cmd
}

func newPluginsUpdate(s *streams) *cobra.Command {
	var f pluginsFlags
	cmd := &cobra.Command{
		Use: "update [flags] NAME [REF]", Short: "Show what changed in a plugin, and trust it", Long: pluginsUpdateHelp,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			sig := catch(cmd.Context())
			defer sig.release()
			return sig.instead(f.update(sig.ctx, cmd, s, args))
		},
	}
	f.trust(cmd)
	return cmd
}

func newPluginsRemove(s *streams) *cobra.Command {
	var f pluginsFlags
	cmd := &cobra.Command{
		Use: "remove [flags] NAME", Short: "Remove a plugin and its data", Long: pluginsRemoveHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			remove := func(ctx context.Context, store plugin.Store, name string) error {
				return store.Remove(ctx, name)
			}
			return f.change(cmd, s, args[0], remove, "removed")
		},
	}
	f.place.define(cmd.Flags())
	return cmd
}

func newPluginsSwitch(s *streams, verb, short, long string, on bool) *cobra.Command {
	var f pluginsFlags
	cmd := &cobra.Command{
		Use: verb + " [flags] NAME", Short: short, Long: long, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			enable := func(ctx context.Context, store plugin.Store, name string) error {
				return store.Enable(ctx, name, on)
			}
			return f.change(cmd, s, args[0], enable, verb+"d")
		},
	}
	f.place.define(cmd.Flags())
	return cmd
}

// change changes a plugin's record and says so.
func (f *pluginsFlags) change(
	cmd *cobra.Command, s *streams, name string, do func(context.Context, plugin.Store, string) error, done string,
) error {
	_, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	if err := do(cmd.Context(), plugin.NewStore(r.DataDir), name); err != nil {
		return pluginMistake(err)
	}
	fmt.Fprintf(s.stderr, "The plugin %s is %s.\n", name, done)
	return nil
}

// pluginMistake gives an unknown name the exit code of wrong usage.
func pluginMistake(err error) error {
	if unknown, ok := errors.AsType[*plugin.UnknownError](err); ok {
		return &config.Error{Where: "plugins", Message: unknown.Error()}
	}
	return failed(err)
}

// shownPlugins returns the plugins with their parts.
func shownPlugins(s *streams, list []plugin.Plugin) (out []about.ShownPlugin) {
	for n := range list {
		out = append(out, about.ShownPlugin{Plugin: list[n], Inventory: plugins.Inventory(&list[n], s.getenv)})
	}
	return out
}

// pluginNamed returns a position in the list; -1 without such a plugin.
func pluginNamed(list []plugin.Plugin, name string) int {
	return slices.IndexFunc(list, func(p plugin.Plugin) bool { return p.Name == name })
}

// pluginsOf returns a function that lists the plugins.
func pluginsOf(s *streams, r *config.Resolved, dir string) func(io.Writer) {
	return func(out io.Writer) {
		now, _ := plugin.NewStore(r.DataDir).List()                                            // for new sessions
		_ = about.Plugins(out, shownPlugins(s, now), plugins.ProposedBy(r.Trust.Project(dir))) // out is in memory
	}
}

// webPlugins returns a function that lists the plugins for clients of the HTTP API.
func webPlugins(s *streams, dataDir string) func() []web.Plugin {
	return func() (out []web.Plugin) {
		now, _ := plugin.NewStore(dataDir).List() // records that cannot be read are not used
		for _, p := range shownPlugins(s, now) {
			out = append(out, web.Plugin{
				Name: p.Name, Version: p.Parts.Version, State: p.State(), From: about.PluginSource(&p.Plugin),
				Has: plugins.Summary(p.Inventory), Problem: p.Problem,
			})
		}
		return out
	}
}

func (f *pluginsFlags) list(cmd *cobra.Command, s *streams) error {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	if _, err := plugin.NewStore(r.DataDir).Records(); err != nil {
		return failed(err)
	}
	list := shownPlugins(s, r.Plugins)
	if f.asJSON {
		return failed(about.PluginsJSON(s.lines(), list))
	}
	var proposed []plugins.Proposed
	if !f.place.project.noProjectConfig {
		proposed = plugins.ProposedBy(r.Trust.Project(dir))
	}
	return s.list("you have added no plugins; settle plugins add --help says how", func(to io.Writer) error {
		return about.Plugins(to, list, proposed)
	})
}

func (f *pluginsFlags) showOne(cmd *cobra.Command, s *streams, name string) error {
	_, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	at := pluginNamed(r.Plugins, name)
	if at < 0 {
		return pluginMistake(&plugin.UnknownError{Name: name})
	}
	shown := shownPlugins(s, r.Plugins[at:at+1])
	if f.asJSON {
		return failed(about.PluginsJSON(s.lines(), shown))
	}
	return failed(showPlugin(s.stdout, shown[0]))
}

func showPlugin(to io.Writer, p about.ShownPlugin) error {
	files, err := plugin.ReadDir(p.Root, nil)
	if err != nil && p.Problem == "" {
		return fmt.Errorf("cannot read the plugin %q: %w", p.Name, err)
	}
	return about.Plugin(to, p, files)
}

// fixed reports whether the flags or the source name content that cannot change.
func (f *pluginsFlags) fixed(from plugins.Source) error {
	if f.yes && f.digest == "" && !(from.Git && plugins.IsCommit(from.Ref)) {
		return &config.Error{
			Where: "--yes",
			Message: "it needs content that cannot change: a repository @COMMIT with all 40 digits, or --digest; " +
				"without --yes, settle prints the digest",
		}
	}
	return nil
}

// stage copies a plugin from its source, without trusting it.
func (f *pluginsFlags) stage(
	ctx context.Context, s *streams, store plugin.Store, from plugins.Source,
	choose func(plugins.Snapshot) (string, error),
) (staged plugin.Plugin, err error) {
	if err := os.MkdirAll(store.Dir(), 0o700); err != nil {
		return staged, err
	}
	snapshot, err := from.Open(ctx, s.environ, store.Dir())
	if err != nil {
		return staged, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	folder, err := choose(snapshot)
	if err != nil {
		return staged, err
	}
	name := f.plugin
	if name == "" {
		name = plugins.DefaultName(from, folder)
	}
	staged, err = plugins.Stage(ctx, store, from, snapshot, folder, name)
	if err == nil && f.digest != "" && staged.Digest != f.digest {
		err = errors.Join(
			fmt.Errorf("its content has the digest %s, not %s", staged.Digest, f.digest), store.Unstage(ctx, staged),
		)
	}
	return staged, err
}

func (f *pluginsFlags) add(ctx context.Context, cmd *cobra.Command, s *streams, source string) error {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	if _, err := r.NeedDataDir(); err != nil {
		return err
	}
	from, err := plugins.ParseSource(dir, source)
	if err == nil && f.path != "" {
		_, err = plugins.CleanFolder(f.path)
	}
	if err != nil {
		return &config.Error{Where: "SOURCE", Message: err.Error()}
	}
	if err := f.fixed(from); err != nil {
		return err
	}
	store := plugin.NewStore(r.DataDir)
	staged, err := f.stage(ctx, s, store, from, func(snapshot plugins.Snapshot) (string, error) {
		return plugins.Choose(ctx, snapshot, source, f.path, f.plugin)
	})
	if choice, ok := errors.AsType[*plugins.ChooseError](err); ok {
		if choice.Name == "" {
			if err := about.PluginEntries(s.stdout, choice.Entries); err != nil {
				return failed(err)
			}
		}
		return &config.Error{Where: "SOURCE", Message: choice.Error()}
	}
	if err != nil {
		return failed(fmt.Errorf("cannot add the plugin: %w; nothing was added", err))
	}
	old := pluginNamed(r.Plugins, staged.Name)
	command := fmt.Sprintf("settle plugins add %s --yes --digest %s", from.Argument(), staged.Digest)
	if staged.Path != "" {
		command += " --path " + terminal.ShellWord(staged.Path)
	}
	if f.plugin != "" {
		command += " --plugin " + terminal.ShellWord(f.plugin)
	}
	if old >= 0 && r.Plugins[old].Digest == staged.Digest {
		return f.sameContent(ctx, s, store, &r.Plugins[old], staged, command)
	}
	if old >= 0 {
		fmt.Fprintf(s.stderr, "This replaces the plugin %s from %s.\n", staged.Name, about.PluginSource(&r.Plugins[old]))
		return f.replace(ctx, s, store, &r.Plugins[old], staged, command)
	}
	_, err = f.decide(ctx, s, store, staged, command, func(to io.Writer, parts []plugins.Part) error {
		return showPlugin(to, about.ShownPlugin{Plugin: staged, Inventory: parts})
	})
	return err
}

func (f *pluginsFlags) update(ctx context.Context, cmd *cobra.Command, s *streams, args []string) error {
	_, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	at := pluginNamed(r.Plugins, args[0])
	if at < 0 {
		return pluginMistake(&plugin.UnknownError{Name: args[0]})
	}
	old := &r.Plugins[at]
	from, command := plugins.SourceOf(old.Record), "settle plugins update "+old.Name
	if len(args) == 2 {
		if !old.Git {
			return &config.Error{Where: "REF", Message: fmt.Sprintf("the plugin %q is of a directory", old.Name)}
		}
		if from, err = plugins.WithRef(from, args[1]); err != nil {
			return &config.Error{Where: "REF", Message: err.Error()}
		}
		command += " " + terminal.ShellWord(args[1])
	}
	if err := f.fixed(from); err != nil {
		return err
	}
	f.plugin = old.Name // of a plugin without a manifest
	store := plugin.NewStore(r.DataDir)
	staged, err := f.stage(ctx, s, store, from, func(plugins.Snapshot) (string, error) { return old.Path, nil })
	if err == nil && staged.Name != old.Name {
		err = errors.Join(fmt.Errorf("it is now called %q; add it by that name", staged.Name),
			store.Unstage(ctx, staged))
	}
	if err != nil {
		return failed(fmt.Errorf("cannot update the plugin %q: %w; it stays as it was", old.Name, err))
	}
	if staged.Digest == old.Digest {
		f.yes = true // another source is the REF that the user named
		return f.sameContent(ctx, s, store, old, staged, command)
	}
	return f.replace(ctx, s, store, old, staged, fmt.Sprintf("%s --yes --digest %s", command, staged.Digest))
}

// sameContent records where the trusted content of a plugin comes from now, which updates follow.
// It asks if that is another place.
func (f *pluginsFlags) sameContent(
	ctx context.Context, s *streams, store plugin.Store, old *plugin.Plugin, staged plugin.Plugin, command string,
) error {
	fmt.Fprintf(s.stderr, "The plugin %s is as you trusted it.\n", old.Name)
	if !old.SameSource(staged.Record) {
		fmt.Fprintf(s.stderr, "It was from %s; now it is from %s.\n",
			about.PluginSource(old), about.PluginSource(&staged))
		yes, err := s.trusts(ctx, f.yes, "Follow the new source?", command)
		if err != nil {
			return failed(err)
		}
		if !yes {
			fmt.Fprintln(s.stderr, "Nothing was changed.")
			return nil
		}
	}
	return failed(store.Record(ctx, staged.Record))
}

// copyAge is the time for which a replaced copy is kept after an update: open sessions can use it.
const copyAge = 7 * 24 * time.Hour

// replace asks whether a staged plugin replaces an earlier version.
func (f *pluginsFlags) replace(
	ctx context.Context, s *streams, store plugin.Store, old *plugin.Plugin, staged plugin.Plugin, command string,
) error {
	trusted, err := f.decide(ctx, s, store, staged, command, func(to io.Writer, parts []plugins.Part) error {
		changed := plugin.Changes(store.Trusted(old.Record), store.Trusted(staged.Record))
		before := about.ShownPlugin{Plugin: *old, Inventory: plugins.Inventory(old, s.getenv)}
		now := about.ShownPlugin{Plugin: staged, Inventory: parts}
		return about.PluginChange(to, before, now, changed, f.readable(s, &staged))
	})
	if err != nil || !trusted {
		return err
	}
	return failed(store.Prune(ctx, staged.Name, copyAge))
}

// readable returns the folder in which a person can read a staged plugin: its copy while the question
// waits or if it is trusted, else its source; "" if that is a repository.
func (f *pluginsFlags) readable(s *streams, staged *plugin.Plugin) string {
	switch {
	case f.yes || s.person():
		return staged.Root
	case staged.Git:
		return ""
	}
	return filepath.Join(staged.Source, filepath.FromSlash(staged.Path))
}

// decide shows a staged plugin, asks, and records the trust or removes the copy. It reports
// whether it recorded the trust. command is the command that trusts the same content without a
// question.
func (f *pluginsFlags) decide(
	ctx context.Context, s *streams, store plugin.Store, staged plugin.Plugin, command string,
	show func(io.Writer, []plugins.Part) error,
) (trusted bool, err error) {
	parts := plugins.Inventory(&staged, s.getenv)
	if err := show(s.stderr, parts); err != nil {
		return false, failed(errors.Join(err, store.Unstage(ctx, staged)))
	}
	question := fmt.Sprintf("Trust the plugin %s with %s? Its programs run with your rights.", staged.Name,
		plugins.Summary(parts))
	if yes, err := s.trusts(ctx, f.yes, question, command); err != nil || !yes {
		if err := errors.Join(store.Unstage(ctx, staged), err); err != nil {
			return false, failed(err)
		}
		fmt.Fprintln(s.stderr, "Nothing was trusted.")
		return false, nil
	}
	staged.Added = time.Now().UTC().Truncate(time.Second)
	if err := store.Record(ctx, staged.Record); err != nil {
		return false, failed(fmt.Errorf("cannot record that you trust the plugin: %w", err))
	}
	fmt.Fprintf(s.stderr, "The plugin %s is trusted; new sessions use it. Its copy: %s\n", staged.Name,
		terminal.OneLine(filepath.Clean(staged.Root)))
	return true, nil
}
