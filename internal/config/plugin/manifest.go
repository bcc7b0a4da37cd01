package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Manifest has the parts of a plugin. Paths are relative to the plugin, with slashes; "."
// is the plugin itself.
type Manifest struct {
	Name, Version, Description, Author string
	// Skills, Commands and Agents are folders and files.
	Skills, Commands, Agents []string
	// Hooks are objects {EVENT: […]}, and Servers objects {NAME: {…}}.
	Hooks, Servers []Doc
	// Ignored are the parts that settle does not use, in words.
	Ignored []string
}

// Doc is a JSON object of a plugin.
type Doc struct {
	// Where is the file, for people.
	Where string
	JSON  json.RawMessage
}

// ManifestPath is the file that makes a folder a plugin; it is optional.
const ManifestPath = ".claude-plugin/plugin.json"

// hooksKey is the key of plugin.json that has or names hooks, in addition to hooksFile.
const (
	hooksKey  = "hooks"
	hooksFile = "hooks/hooks.json"
)

const maxMeta = 1 << 20 // bytes of a JSON file

// metadata are the keys of plugin.json that describe the plugin.
const metadata = "name version description displayName author homepage repository license keywords category " +
	"tags $schema defaultEnabled"

// parser collects the parts of a plugin.
type parser struct {
	Manifest
	tree Tree
	keys map[string]json.RawMessage
}

// Parse finds the parts of a plugin whose JSON files are kept. name is its name without a
// manifest.
func Parse(tree Tree, name string) (Manifest, error) {
	p := parser{tree: tree, Manifest: Manifest{Name: name}}
	if err := p.manifest(); err != nil {
		return Manifest{}, err
	}
	if err := CheckName(p.Name); err != nil {
		if _, named := p.keys["name"]; !named {
			err = fmt.Errorf("%w; choose a name with --plugin NAME", err)
		}
		return Manifest{}, err
	}
	for _, part := range []struct {
		key, folder string
		adds        bool // to the folder, which it replaces otherwise
		to          *[]string
	}{
		{"skills", "skills", true, &p.Skills},
		{"commands", "commands", false, &p.Commands},
		{"agents", "agents", false, &p.Agents},
	} {
		if err := p.paths(part.key, part.folder, part.adds, part.to); err != nil {
			return Manifest{}, err
		}
	}
	if _, alone := tree.File("SKILL.md"); alone && len(p.Skills) == 0 {
		p.Skills = []string{"."}
	}
	if err := p.hooks(); err != nil {
		return Manifest{}, err
	}
	if err := p.servers(); err != nil {
		return Manifest{}, err
	}
	p.languageServers()
	p.unused()
	for _, o := range tree.Omitted {
		p.ignore("%s", o)
	}
	return p.Manifest, nil
}

func (p *parser) ignore(format string, args ...any) {
	p.Ignored = append(p.Ignored, fmt.Sprintf(format, args...))
}

// manifest reads plugin.json.
func (p *parser) manifest() error {
	f, ok := p.tree.File(ManifestPath)
	if !ok {
		return nil
	}
	if err := decode(f, &p.keys); err != nil {
		return err
	}
	text := func(key string) (value string) {
		_ = json.Unmarshal(p.keys[key], &value) // another type describes nothing
		return strings.Join(strings.Fields(value), " ")
	}
	if _, named := p.keys["name"]; named {
		p.Name = text("name")
	}
	p.Version, p.Description, p.Author = text("version"), text("description"), text("author")
	var author struct{ Name string }
	if json.Unmarshal(p.keys["author"], &author) == nil && author.Name != "" {
		p.Author = author.Name
	}
	return nil
}

// decode reads a JSON file.
func decode(f File, to any) error {
	if f.Size > maxMeta {
		return fmt.Errorf("%s has %d bytes; the limit is %d", f.Path, f.Size, maxMeta)
	}
	if err := json.Unmarshal(f.Data, to); err != nil {
		return fmt.Errorf("%s is not understood: %w", f.Path, err)
	}
	return nil
}

// oneOrMore reads a string or a list of strings; ok is false for anything else.
func oneOrMore(raw json.RawMessage) (list []string, ok bool) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, true
	}
	return list, json.Unmarshal(raw, &list) == nil
}

// inside returns the path of a manifest without "./". A path out of the plugin is an error.
func inside(key, named string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(named, "./"))
	if strings.HasPrefix(named, "/") || named == "" {
		return "", fmt.Errorf("plugin.json: %s: %q is no path in the plugin", key, named)
	}
	if clean == "." {
		return clean, nil
	}
	if err := CheckPath(clean); err != nil {
		return "", fmt.Errorf("plugin.json: %s: %q leads out of the plugin", key, named)
	}
	return clean, nil
}

// paths finds the folders of a kind of part.
func (p *parser) paths(key, folder string, adds bool, to *[]string) error {
	raw, given := p.keys[key]
	if (!given || adds) && p.tree.Has(folder) {
		*to = append(*to, folder)
	}
	if !given {
		return nil
	}
	list, ok := oneOrMore(raw)
	if !ok {
		p.ignore("%s in plugin.json, which is no list of paths", key)
		return nil
	}
	for _, named := range list {
		at, err := inside(key, named)
		switch {
		case err != nil:
			return err
		case !p.tree.Has(at):
			p.ignore("%s: %q in plugin.json, which does not exist", key, named)
		case !slices.Contains(*to, at):
			*to = append(*to, at)
		}
	}
	return nil
}

// formerHooks returns the hooks of a changed plugin. It returns an error if they can differ from
// the hooks of the trusted files, a list as of [Tree.List].
func formerHooks(tree Tree, trusted string) ([]Doc, error) {
	old, errOld := parseList(trusted)
	now, errNow := parseList(tree.List())
	if err := errors.Join(errOld, errNow); err != nil {
		return nil, err
	}
	p := parser{tree: tree}
	if err := p.manifest(); err != nil {
		return nil, err
	}
	_, files, err := p.named(hooksKey, hooksFile)
	if err != nil {
		return nil, err
	}
	for _, name := range append(files, ManifestPath) {
		if old[name] != now[name] { // a missing one is ""
			return nil, fmt.Errorf("%s has changed", name)
		}
	}
	err = p.hooks()
	return p.Hooks, err
}

// named returns the objects that a key of plugin.json has, and the files that it names, with
// the default one.
func (p *parser) named(key, file string) (out []Doc, files []string, err error) {
	files = []string{file}
	if raw, given := p.keys[key]; given {
		var values []json.RawMessage
		if json.Unmarshal(raw, &values) != nil {
			values = []json.RawMessage{raw}
		}
		for _, value := range values {
			var named string
			if json.Unmarshal(value, &named) != nil {
				out = append(out, Doc{"plugin.json", value})
				continue
			}
			at, err := inside(key, named)
			if err != nil {
				return nil, nil, err
			}
			if !slices.Contains(files, at) {
				files = append(files, at)
			}
		}
	}
	return out, files, nil
}

// docs returns the objects that a key of plugin.json has or names, and the object in the
// file of the default path.
func (p *parser) docs(key, file string) (out []Doc, err error) {
	out, files, err := p.named(key, file)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		f, ok := p.tree.File(name)
		if !ok || f.Data == nil {
			if name != file {
				p.ignore("%s: %q in plugin.json, which is no JSON file", key, name)
			}
			continue
		}
		var value json.RawMessage
		if err := decode(f, &value); err != nil {
			return nil, err
		}
		out = append(out, Doc{f.Path, value})
	}
	return out, nil
}

// unwrapped returns the object in the key of a document, or the document itself.
func unwrapped(d Doc, key string) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(d.JSON, &object); err != nil {
		return nil, fmt.Errorf("%s: the %s are no object", d.Where, key)
	}
	inner, wrapped := object[key]
	if !wrapped {
		return object, nil
	}
	object = nil
	if err := json.Unmarshal(inner, &object); err != nil {
		return nil, fmt.Errorf("%s: the %s are no object", d.Where, key)
	}
	return object, nil
}

func (p *parser) hooks() error {
	docs, err := p.docs(hooksKey, hooksFile)
	if err != nil {
		return err
	}
	for _, d := range docs {
		events, err := unwrapped(d, "hooks")
		if err != nil {
			return err
		}
		delete(events, "description") // {"description": …} without hooks
		if len(events) > 0 {
			p.Hooks = append(p.Hooks, Doc{d.Where, encoded(events)})
		}
	}
	return nil
}

func (p *parser) servers() error {
	docs, err := p.docs("mcpServers", ".mcp.json")
	if err != nil {
		return err
	}
	for _, d := range docs {
		servers, err := unwrapped(d, "mcpServers")
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			if strings.Contains(string(servers[name]), "${user_config.") {
				p.ignore("the MCP server %q, which needs values of userConfig", name)
				delete(servers, name)
			}
		}
		if len(servers) > 0 {
			p.Servers = append(p.Servers, Doc{d.Where, encoded(servers)})
		}
	}
	return nil
}

// encoded is the JSON of an object, with its keys sorted.
func encoded(object map[string]json.RawMessage) json.RawMessage {
	data, err := json.Marshal(object)
	if err != nil { // its values were read as JSON
		return json.RawMessage("{}")
	}
	return data
}

// languageServers lists the language servers, which settle does not start.
func (p *parser) languageServers() {
	docs, err := p.docs("lspServers", ".lsp.json")
	if err != nil {
		p.ignore("language servers: %v", err)
		return
	}
	for _, d := range docs {
		var servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}
		if json.Unmarshal(d.JSON, &servers) != nil {
			p.ignore("language servers in %s", d.Where)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			s := servers[name]
			p.ignore("the language server %q: %s", name, strings.Join(append([]string{s.Command}, s.Args...), " "))
		}
	}
}

// unused lists the other parts of the layout.
func (p *parser) unused() {
	used := append(strings.Fields(metadata), "skills", "commands", "agents", "hooks", "mcpServers", "lspServers")
	for _, key := range slices.Sorted(maps.Keys(p.keys)) {
		if !slices.Contains(used, key) {
			p.ignore("%q in plugin.json", key)
		}
	}
	for _, name := range []string{"bin", "monitors", "output-styles", "settings.json", "themes", "workflows"} {
		if p.tree.Has(name) {
			p.ignore("%s", name)
		}
	}
}
