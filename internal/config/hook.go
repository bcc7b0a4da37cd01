package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/repo"
)

// Hook is a command that runs on an event of sessions.
type Hook struct {
	Event   event.HookEvent
	Matcher string
	Command string
	Args    []string // if set, Command is a program without a shell
	Timeout time.Duration
	// Dir is the absolute project of the hook; empty for the user's own hooks.
	Dir string
	// Own marks a hook from settle's own configuration.
	Own bool
	// Plugin is the plugin that brings the hook; nil for none. Env are additional variables.
	Plugin *plugin.Plugin
	Env    []string
	// Broken, if set, is the reason why the hook cannot run. A broken blocking hook stays
	// configured and denies.
	Broken string
	Origin Origin
}

// ProjectHooks are the hooks in one file of a project. The repository's author chose the
// commands: the hooks run only after the user trusted this version.
type ProjectHooks struct {
	Path string
	// Hash is the hash of the hooks and of the project's files that they name.
	Hash    string
	Hooks   []Hook
	Trusted bool
	// Problem, if set, is the reason why the hooks cannot be trusted.
	Problem string
}

// Check returns an error if the file's hooks, or the project's files that they name, have
// changed since they were read: the user trusted a version of the script. ctx ends the reading of
// the files.
func (p ProjectHooks) Check(ctx context.Context, project repo.Project) error {
	if len(p.Hooks) == 0 {
		return nil
	}
	switch hash, err := hooksHash(ctx, project, p.Hooks[0].Dir, p.Hooks); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the hooks of %s cannot be trusted any more: %w", p.Path, err)
	case hash == p.Hash:
		return nil
	}
	return fmt.Errorf(
		"a file that the hooks of %s name has changed since you trusted them, so they do not run; to see them and trust them as they are now: settle hooks --trust",
		p.Path,
	)
}

// Line is the command line for people.
func (h Hook) Line() string {
	if h.Args == nil {
		return h.Command
	}
	return CommandLine(append([]string{h.Command}, h.Args...))
}

// CommandLine shows the words of a command without a shell, and where each word ends.
func CommandLine(argv []string) string {
	words := slices.Clone(argv)
	for n, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n\"'\\|&;<>()") {
			words[n] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// Values of RunHooks.
const (
	HooksAll = "all"
	HooksOwn = "own" // hooks of settle's own configuration and of plugins
	HooksOff = "off"
)

// ownHooks reads [hooks] of the user's file.
func (l *loader) ownHooks(top *table) {
	value, ok := top.take("hooks")
	if !ok {
		return
	}
	raw, err := json.Marshal(value)
	var list []Hook
	if err == nil {
		list, _, err = parseHooks(raw, strictly)
	}
	if err != nil {
		top.fail("hooks", err)
		return
	}
	numbers, all := map[event.HookEvent]int{}, map[event.HookEvent]int{}
	for _, h := range list {
		all[h.Event]++
	}
	for _, h := range list {
		numbers[h.Event]++
		number := 1
		last := joined([]string{"hooks", string(h.Event), strconv.Itoa(all[h.Event])})
		if top.doc.lines[last] > 0 { // each entry is one hook
			number = numbers[h.Event]
		}
		where := top.doc.where("hooks", string(h.Event), strconv.Itoa(number))
		h.Own, h.Origin = true, Origin{Kind: File, Where: where}
		l.Hooks = append(l.Hooks, h)
	}
}

// hooks reads the hooks in the files of other agents, of the user and of the project.
func (l *loader) hooks() {
	if l.RunHooks == HooksOff {
		l.Hooks = nil
	}
	if l.RunHooks != HooksAll {
		return
	}
	l.foreignHooks()
	if l.in.ProjectConfig != IgnoreProject {
		l.projectHooks()
	}
	l.Hooks = distinct(l.Hooks)
}

// foreignHooks reads the user's own files of Claude Code and Codex.
func (l *loader) foreignHooks() {
	for _, path := range l.foreignFiles() {
		data, size, err := readOwned(path, maxFile)
		if missing(err) {
			continue
		}
		list, err := readHooks(path, data, size, err)
		if err != nil {
			l.Notes = append(l.Notes, fmt.Sprintf("%s: its hooks are not used: %v", path, err))
		}
		for _, h := range list {
			h.Own, h.Origin = true, Origin{Kind: File, Where: path}
			l.Hooks = append(l.Hooks, h)
		}
	}
}

// foreignFiles are the user's configuration files of Claude Code and Codex.
func (l *loader) foreignFiles() (paths []string) {
	for _, place := range []struct {
		variable, folder string
		files            []string
	}{
		{"CLAUDE_CONFIG_DIR", ".claude", []string{"settings.json"}},
		{"CODEX_HOME", ".codex", []string{"hooks.json", "config.toml"}},
	} {
		dir := absolute(l.in.Getenv(place.variable))
		if dir == "" {
			dir = under(l.in.Getenv, place.folder)
		}
		for _, name := range place.files {
			if dir != "" {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths
}

// projectHooks reads the hooks of the project's directories.
func (l *loader) projectHooks() {
	project := l.in.Trust.Project(l.in.Dir)
	users := l.foreignFiles()
	for _, dir := range project.Dirs {
		for _, name := range []string{
			".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json",
			".codex/config.toml",
		} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if slices.Contains(users, path) { // the home directory can be a project
				continue
			}
			data, size, err := project.ReadFile(path, maxFile)
			if missing(err) {
				continue
			}
			list, err := readHooks(path, data, size, err)
			if err != nil {
				l.Notes = append(l.Notes, fmt.Sprintf("%s: its hooks are not used: %v", path, err))
			}
			if len(list) > 0 {
				l.projectFileHooks(project, dir, path, list)
			}
		}
	}
}

func (l *loader) projectFileHooks(project repo.Project, dir, path string, list []Hook) {
	for n := range list {
		list[n].Dir, list[n].Origin = dir, Origin{Kind: Project, Where: path}
	}
	file := ProjectHooks{Path: path, Hooks: list}
	var err error
	file.Hash, err = hooksHash(context.Background(), project, dir, list)
	switch recorded, ok := l.Recorded()[path]; {
	case err != nil:
		file.Problem = err.Error()
		l.Notes = append(l.Notes, fmt.Sprintf("%s: its hooks are not run, since they cannot be trusted: %v", path, err))
	case ok && recorded == file.Hash:
		file.Trusted = true
		l.Hooks = append(l.Hooks, list...)
	default:
		l.Notes = append(l.Notes, fmt.Sprintf(
			"%s: its hooks are not run, since you have not trusted them as they are now; to see them and trust them: settle hooks --trust",
			path,
		))
	}
	l.ProjectHooks = append(l.ProjectHooks, file)
}

// maxHashed bounds the bytes of all files that the hooks in one file of a project name: they are
// read when a session begins, and before each run of a hook.
const maxHashed = 64 << 20

// hooksHash is the hash of hooks and of the project's files that their commands name,
// because the user trusts a version of the script. The error means that the files are too
// large to be read, or that ctx has ended.
func hooksHash(ctx context.Context, project repo.Project, dir string, list []Hook) (string, error) {
	sum := sha256.New()
	files := fileHashes{project: project, room: maxHashed, known: map[string]string{}}
	for _, h := range list {
		fmt.Fprintf(sum, "%q %q %q %q %d %q\n", h.Event, h.Matcher, h.Command, h.Args, h.Timeout, h.Broken)
		for _, word := range append(strings.FieldsFunc(strings.NewReplacer(`"`, "", "'", "").Replace(h.Command),
			delimits), h.Args...) {
			for _, variable := range []string{
				"$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR}", "$SETTLE_PROJECT_DIR",
				"${SETTLE_PROJECT_DIR}",
			} {
				word = strings.ReplaceAll(word, variable, dir)
			}
			if word == "" {
				continue
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(dir, word)
			}
			if rel, err := filepath.Rel(dir, word); err != nil || rel == "." || strings.HasPrefix(rel, "..") {
				continue
			}
			hash, err := files.of(ctx, word)
			if err != nil {
				return "", err
			}
			if hash != "" {
				fmt.Fprintf(sum, "%q %s\n", word, hash)
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// fileHashes hashes files of a project, each once.
type fileHashes struct {
	project repo.Project
	room    int64 // bytes that can still be read
	known   map[string]string
}

// of returns the hash of a file; "" if the word names no file that can be read. The error means
// that the file exceeds the room, or that ctx has ended.
func (f *fileHashes) of(ctx context.Context, path string) (string, error) {
	if hash, ok := f.known[path]; ok {
		return hash, nil
	}
	f.known[path] = ""
	file, err := f.project.OpenFile(path)
	if err != nil {
		return "", nil // a word that names no file
	}
	defer func() { _ = file.Close() }() // the file was only read
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(readerFunc(func(b []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return file.Read(b)
	}), f.room+1))
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", nil // such as a folder
	}
	if f.room -= n; f.room < 0 {
		return "", fmt.Errorf("the files that they name have more than %d MB together, up to %q", maxHashed>>20, path)
	}
	f.known[path] = hex.EncodeToString(sum.Sum(nil))
	return f.known[path], nil
}

// readerFunc is a Read method.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// delimits reports whether the character ends a file name in a command.
func delimits(r rune) bool { return strings.ContainsRune(" \t\n`;|&()<>=", r) }

// readHooks reads the hooks of a file, in the format of its name.
func readHooks(path string, data []byte, size int64, err error) ([]Hook, error) {
	switch {
	case err != nil:
		return nil, err
	case size > maxFile:
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	var file struct {
		Hooks json.RawMessage `json:"hooks"`
		Off   bool            `json:"disableAllHooks"`
	}
	if filepath.Ext(path) == ".toml" {
		if file.Hooks, err = tomlHooks(path, data); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("it is not understood: %w", err)
	}
	if file.Off || len(file.Hooks) == 0 || string(file.Hooks) == "null" {
		return nil, nil
	}
	list, left, err := parseHooks(file.Hooks, loosely)
	if err == nil && len(left) > 0 {
		err = errors.New(strings.Join(left, "; "))
	}
	return list, err
}

// tomlHooks returns the [hooks] of a Codex file as JSON.
func tomlHooks(path string, data []byte) (json.RawMessage, error) {
	doc, err := read(path, func(string, int64) ([]byte, int64, error) { return data, int64(len(data)), nil })
	if err != nil || doc == nil || doc.values["hooks"] == nil {
		return nil, err
	}
	return json.Marshal(doc.values["hooks"])
}

// strictness decides how the parser treats unknown parts.
type strictness string

const (
	strictly strictness = "strictly" // an error
	loosely  strictness = "loosely"  // omitted
)

// hookGroup is one entry of an event: a command, or several commands with a matcher.
type hookGroup struct {
	Matcher string        `json:"matcher"`
	Hooks   []hookCommand `json:"hooks"`
	hookCommand
}

type hookCommand struct {
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Args    []string        `json:"args"`
	Timeout json.RawMessage `json:"timeout"`
}

// parseHooks reads {EVENT: [{matcher, hooks: [{type, command, timeout}]}]}, and returns the
// omitted parts.
func parseHooks(raw json.RawMessage, how strictness) (list []Hook, left []string, err error) {
	var events map[string]json.RawMessage
	if err := json.Unmarshal(raw, &events); err != nil {
		return nil, nil, errors.New("must be a table with a list for each event")
	}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		e := event.HookEvent(name)
		if !slices.Contains(event.HookEvents(), e) {
			if how == strictly {
				return nil, nil, fmt.Errorf("there is no event %q%s", name, DidYouMean(name, eventNames()))
			}
			continue // from a newer Claude Code, or a setting of Codex
		}
		var groups []hookGroup
		d := json.NewDecoder(bytes.NewReader(events[name]))
		if how == strictly {
			d.DisallowUnknownFields()
		}
		if err := d.Decode(&groups); err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s is not understood: %w", name, err)
			if how == strictly {
				return nil, nil, err
			}
			left = append(left, err.Error())
			continue
		}
		for _, g := range groups {
			commands := g.Hooks
			if g.Command != "" || g.Type != "" {
				commands = append(commands, g.hookCommand)
			}
			for _, c := range commands {
				h, err := c.hook(e, g.Matcher)
				switch {
				case err == nil:
				case how == strictly:
					return nil, nil, fmt.Errorf("%s: %w", name, err)
				case !e.IsBlocking():
					left = append(left, fmt.Sprintf("%s: %v", name, err))
					continue
				default:
					h.Broken = err.Error() // a blocking hook that cannot run denies
				}
				list = append(list, h)
			}
		}
	}
	return list, left, nil
}

func eventNames() (names []string) {
	for _, e := range event.HookEvents() {
		names = append(names, string(e))
	}
	return names
}

func (c hookCommand) hook(e event.HookEvent, matcher string) (Hook, error) {
	h := Hook{Event: e, Matcher: matcher, Command: c.Command, Args: c.Args}
	switch {
	case c.Type != "" && c.Type != "command":
		h.Command = c.Type
		return h, fmt.Errorf("settle does not know hooks of the type %q", c.Type)
	case strings.TrimSpace(c.Command) == "":
		return h, errors.New("a hook needs a command")
	}
	var seconds float64
	var words string
	switch {
	case len(c.Timeout) == 0 || string(c.Timeout) == "null":
	case json.Unmarshal(c.Timeout, &seconds) == nil && seconds >= 0 && seconds < 1e9:
		h.Timeout = time.Duration(seconds * float64(time.Second))
	case json.Unmarshal(c.Timeout, &words) == nil:
		d, err := asDuration(words)
		if err != nil {
			return h, fmt.Errorf("timeout %w", err)
		}
		h.Timeout = d
	default:
		return h, errors.New("timeout must be a duration, or a number of seconds")
	}
	return h, nil
}

// distinct removes duplicate hooks.
func distinct(list []Hook) []Hook {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(h Hook) bool {
		key := fmt.Sprintf("%q %q %q %q", h.Event, h.Matcher, h.Command, h.Args)
		was := seen[key]
		seen[key] = true
		return was
	})
}
