package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Draft is a choice of a model that the user can try, and then keep in their own file.
type Draft struct {
	// Model is the provider's own name of the model; it can be empty until it is chosen.
	Model string
	// Provider is a built-in provider, or a new one.
	Provider Provider
	// Key is a key to keep in a file that only the user can read, and KeyCommand a line for the
	// shell that prints it; both are empty if the provider is used as it is.
	Key, KeyCommand string
}

// Try returns the settings with the draft in force. They are not kept.
func (r *Resolved) Try(d Draft) *Resolved {
	tried, p := *r, d.Provider
	switch {
	case d.Key != "":
		p.KeyEnv, p.KeyCommand, p.KeyFile, p.fileKey, p.fileErr = "", nil, r.keyFile(p.Name), d.Key, nil
	case d.KeyCommand != "":
		p.KeyEnv, p.KeyFile, p.fileKey = "", "", ""
		p.KeyCommand, _ = (&loader{Resolved: *r}).asCommand(d.KeyCommand) // a text is a command
	}
	tried.Providers = maps.Clone(r.Providers)
	tried.Providers[p.Name] = p
	tried.Model, tried.BaseURL = "", ""
	if d.Model != "" {
		tried.Model = p.Name + "/" + d.Model
	}
	return &tried
}

// keyFile is the file that keeps a provider's key. Its name is one of a secret file.
func (r *Resolved) keyFile(provider string) string {
	return filepath.Join(filepath.Dir(r.UserFile), "keys", provider+".key")
}

// Keep writes the draft to the user's file, and the key to a file of its own. It returns the
// written paths. A setting that it does not change keeps its value, its place and its comments.
// On an error, the file is as it was.
func (r *Resolved) Keep(d Draft) (paths []string, err error) {
	if r.UserFile == "" {
		return nil, errors.New("cannot keep the choice: there is no directory for the configuration; " +
			"set HOME or XDG_CONFIG_HOME")
	}
	content, size, err := readOwned(r.UserFile, maxFile)
	if err == nil && size > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("cannot keep the choice: cannot read %q: %w", r.UserFile, err)
	}
	doc, err := parse(r.UserFile, content)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the choice: %w", err)
	}
	edited, err := doc.edit(content, r.changes(d))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(r.UserFile), 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep the choice: %w", err)
	}
	if d.Key != "" {
		file := r.keyFile(d.Provider.Name)
		if err := keepKey(file, d.Key); err != nil {
			return nil, fmt.Errorf("cannot keep the key: %w", err)
		}
		paths = append(paths, file)
	}
	target := r.UserFile
	if real, err := filepath.EvalSymlinks(target); err == nil { // the user keeps the file elsewhere
		target = real
	}
	if err := disk.ReplaceDurably(target, edited); err != nil {
		return paths, fmt.Errorf("cannot keep the choice: %w", err)
	}
	return append([]string{r.UserFile}, paths...), nil
}

// keepKey writes a key to a file with mode 0600, in a directory with mode 0700.
func keepKey(file, key string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := disk.CheckPrivate(filepath.Dir(file)); err != nil {
		return err
	}
	return disk.ReplaceDurably(file, []byte(key+"\n"))
}

// change is a new value of a setting; nil removes the setting.
type change struct {
	path  []string
	value any // a string or nil
}

// changes are the settings of the draft.
func (r *Resolved) changes(d Draft) []change {
	p := d.Provider
	in := func(key string, value any) change { return change{[]string{"providers", p.Name, key}, value} }
	list := []change{{[]string{"model"}, p.Name + "/" + d.Model}}
	builtIn, known := builtin()[p.Name]
	if p.BaseURL != builtIn.BaseURL && p.BaseURLOrigin.Kind != Env {
		list = append(list, in("base_url", p.BaseURL))
	}
	if !known {
		list = append(list, in("wire", string(p.Wire)))
	}
	switch {
	case d.Key != "":
		list = append(list, in("key_file", "keys/"+p.Name+".key"), in("key_command", nil), in("key_env", nil))
	case d.KeyCommand != "":
		list = append(list, in("key_command", d.KeyCommand), in("key_file", nil), in("key_env", nil))
	}
	return list
}

// edit returns the content with the changes. It changes single lines, and compares the values
// of the result: if lines do not suffice, the error has the lines for the user.
func (d *document) edit(content []byte, changes []change) ([]byte, error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	want := cloneTable(d.values)
	got, err := parse(d.path, content)
	for _, c := range changes {
		if err != nil {
			break
		}
		setValue(want, c.path, c.value)
		content = []byte(strings.Join(got.setLine(strings.SplitAfter(string(content), "\n"), c), ""))
		got, err = parse(d.path, content)
	}
	if err != nil || !reflect.DeepEqual(got.values, want) {
		return nil, uneditable(d.path, changes)
	}
	return content, nil
}

func uneditable(path string, changes []change) error {
	var lines []string
	for _, c := range changes {
		if c.value != nil {
			lines = append(lines, strings.Join(c.path, ".")+" = "+tomlValue(c.value))
		}
	}
	return &Error{Where: path, Message: "settle cannot edit this file; nothing was changed; set there yourself: " +
		strings.Join(lines, ", ")}
}

// setLine returns the lines with one change: in the line of the setting, below the header of its
// table, or in a new table.
func (d *document) setLine(lines []string, c change) []string {
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else if !strings.HasSuffix(lines[last], "\n") {
		lines[last] += "\n"
	}
	key, table := c.path[len(c.path)-1], c.path[:len(c.path)-1]
	at := d.lines[joined(c.path)]
	line := fmt.Sprintf("%s = %s\n", key, tomlValue(c.value))
	header := d.lines[joined(table)]
	switch {
	case c.value == nil && at == 0:
		return lines
	case c.value == nil:
		return slices.Delete(lines, at-1, at)
	case at > 0:
		lines[at-1] = line
		return lines
	case len(table) == 0:
		return slices.Insert(lines, 0, line)
	case header > 0:
		return slices.Insert(lines, header, line)
	}
	name := table[len(table)-1]
	if !validName(name) || strings.Contains(name, ".") {
		name = strconv.Quote(name)
	}
	if len(lines) > 0 {
		lines = append(lines, "\n")
	}
	return append(lines, fmt.Sprintf("[providers.%s]\n", name), line)
}

// tomlValue writes a value; keys, addresses and commands are basic strings of TOML.
func tomlValue(value any) string {
	text, _ := value.(string)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

func cloneTable(table map[string]any) map[string]any {
	clone := maps.Clone(table)
	for key, value := range clone {
		if inner, ok := value.(map[string]any); ok {
			clone[key] = cloneTable(inner)
		}
	}
	return clone
}

func setValue(table map[string]any, path []string, value any) {
	if len(path) == 1 {
		if table[path[0]] = value; value == nil {
			delete(table, path[0])
		}
		return
	}
	inner, ok := table[path[0]].(map[string]any)
	if !ok {
		if value == nil {
			return
		}
		inner = map[string]any{}
		table[path[0]] = inner
	}
	setValue(inner, path[1:], value)
}
