package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// maxFile bounds a configuration file in bytes.
const maxFile = 1 << 20

// document is one parsed file.
type document struct {
	path   string
	values map[string]any
	lines  map[string]int // line numbers by key path
}

// read returns nil if there is no such file.
func read(path string, readFile func(path string, limit int64) ([]byte, int64, error)) (*document, error) {
	data, size, err := readFile(path, maxFile)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Where: path, Message: "cannot be read: " + err.Error()}
	}
	if size > maxFile {
		return nil, &Error{Where: path, Message: fmt.Sprintf("is larger than %d bytes", maxFile)}
	}
	return parse(path, data)
}

// readOwned reads the user's own configuration. No other user can own or write the file or
// its directory, because it names programs that settle runs.
func readOwned(path string, limit int64) ([]byte, int64, error) {
	if err := errors.Join(disk.CheckOwned(filepath.Dir(path)), disk.CheckOwned(path)); err != nil {
		return nil, 0, err
	}
	return disk.Read(path, limit)
}

func parse(path string, data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors write a byte order mark
	d := &document{path: path, values: map[string]any{}, lines: map[string]int{}}
	if err := toml.Unmarshal(data, &d.values); err != nil {
		where := path
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			where = fmt.Sprintf("%s:%d", path, line)
		}
		return nil, &Error{Where: where, Message: "is not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	}
	d.findLines(data)
	return d, nil
}

// findLines records the line of each key. The document is valid.
func (d *document) findLines(data []byte) {
	var parser unstable.Parser
	parser.Reset(data)
	var table []string
	entries := map[string]int{} // number of entries of arrays of tables
	for parser.NextExpression() {
		expression := parser.Expression()
		var path []string
		line := 0
		for keys := expression.Key(); keys.Next(); {
			key := keys.Node()
			path = append(path, string(key.Data))
			line = parser.Shape(key.Raw).Start.Line
		}
		switch expression.Kind {
		case unstable.Table:
			table = path
		case unstable.ArrayTable:
			entries[joined(path)]++
			path = append(path, strconv.Itoa(entries[joined(path)]))
			table = path
		case unstable.KeyValue:
			path = slices.Concat(table, path)
		default:
			continue
		}
		for n := range path {
			if key := joined(path[:n+1]); d.lines[key] == 0 {
				d.lines[key] = line
			}
		}
	}
}

// where returns the file and line of a key, or of the nearest table around it.
func (d *document) where(path ...string) string {
	for n := len(path); n > 0; n-- {
		if line := d.lines[joined(path[:n])]; line > 0 {
			return fmt.Sprintf("%s:%d", d.path, line)
		}
	}
	return d.path
}

func joined(path []string) string { return strings.Join(path, "\x00") }

// table reads one table of a document and collects the errors in errs.
type table struct {
	doc    *document
	path   []string
	values map[string]any
	known  []string
	errs   *[]error
}

func (d *document) root() *table {
	return &table{doc: d, values: d.values, errs: new([]error)}
}

// take returns the value of a key, and marks the key as known.
func (t *table) take(key string) (any, bool) {
	t.known = append(t.known, key)
	value, ok := t.values[key]
	return value, ok
}

// table returns the table under a key, nil if there is none.
func (t *table) table(key string) *table {
	value, ok := t.take(key)
	if !ok {
		return nil
	}
	values, ok := value.(map[string]any)
	if !ok {
		t.fail(key, fmt.Errorf("must be a table, not %s", described(value)))
		return nil
	}
	return &table{doc: t.doc, path: slices.Concat(t.path, []string{key}), values: values, errs: t.errs}
}

// keys returns the keys of the table in order.
func (t *table) keys() []string { return slices.Sorted(maps.Keys(t.values)) }

// get stores the value of a key, if it is set.
func get[V any](t *table, key string, place *V, as func(any) (V, error)) bool {
	value, ok := t.take(key)
	if !ok {
		return false
	}
	v, err := as(value)
	if err != nil {
		t.fail(key, err)
		return false
	}
	*place = v
	return true
}

func (t *table) where(key string) string {
	return t.doc.where(slices.Concat(t.path, []string{key})...)
}

func (t *table) fail(key string, err error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			t.fail(key, one)
		}
		return
	}
	if wrong, ok := errors.AsType[*keymap.Error](err); ok {
		t.keyFailure(key, wrong)
		return
	}
	name := strings.Join(slices.Concat(t.path, []string{key}), ".")
	*t.errs = append(*t.errs, &Error{Where: t.where(key), Key: name, Message: err.Error()})
}

// missing reports that a key is not set. A value that cannot be used has its own error, and a key is
// reported once.
func (t *table) missing(key string, err error) {
	name := strings.Join(slices.Concat(t.path, []string{key}), ".")
	reported := func(err error) bool {
		of, ok := errors.AsType[*Error](err)
		return ok && of.Key == name
	}
	if !t.isSet(key) && !slices.ContainsFunc(*t.errs, reported) {
		t.fail(key, err)
	}
}

// isSet reports whether the table has the key, with any value.
func (t *table) isSet(key string) bool {
	_, ok := t.values[key]
	return ok
}

// done reports the unknown keys.
func (t *table) done() {
	for _, key := range t.keys() {
		if !slices.Contains(t.known, key) {
			t.fail(key, fmt.Errorf("unknown setting%s", DidYouMean(key, t.known)))
		}
	}
}
