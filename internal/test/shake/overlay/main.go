// Command overlay writes a source overlay in which goroutines give way at the
// points where they meet, for `go test -overlay`. See package shake.
//
//	go run ./internal/test/shake/overlay DIRECTORY [SEED]
//
// It writes DIRECTORY/overlay.json and the files that it names, and prints how
// many points there are.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// shaken are the packages that get points.
func shaken() []string {
	return []string{
		".",
		"internal/session",
		"internal/turn",
		"internal/journal",
		"internal/assemble",
		"model/transport",
	}
}

func main() {
	seed, err := uint64(0), error(nil)
	if len(os.Args) == 3 {
		seed, err = strconv.ParseUint(os.Args[2], 10, 64)
	}
	if err != nil || len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: overlay DIRECTORY [SEED]")
		os.Exit(2)
	}
	points, err := write(".", os.Args[1], seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d points\n", points)
}

// write writes the overlay for the module at root into dir and returns how many
// points it has. The seed is for tests that set none.
func write(root, dir string, seed uint64) (points int, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return 0, fmt.Errorf("cannot find the module: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, fmt.Errorf("cannot find the overlay's directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("cannot make the overlay's directory: %w", err)
	}
	o := overlay{root: root, dir: dir, seed: seed, replace: map[string]string{}}
	if err := o.add(); err != nil {
		return 0, err
	}
	raw, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return 0, fmt.Errorf("cannot encode the overlay: %w", err)
	}
	return o.points, os.WriteFile(filepath.Join(dir, "overlay.json"), raw, 0o600)
}

// overlay is the state of writing an overlay.
type overlay struct {
	root, dir string
	seed      uint64
	replace   map[string]string
	held      []lines
	points    int
}

// add goes through the module: all of it for its locks, some for points.
func (o *overlay) add() error {
	err := filepath.WalkDir(o.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != o.root &&
				(err == nil || name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		return o.file(path)
	})
	if err != nil {
		return fmt.Errorf("cannot read the module: %w", err)
	}
	return o.put(filepath.Join("internal", "test", "shake", "lines.go"), table(o.held, o.seed))
}

func (o *overlay) file(path string) error {
	name, err := filepath.Rel(o.root, path)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := parse(filepath.ToSlash(name), raw)
	if err != nil {
		return err
	}
	o.held = append(o.held, s.held()...)
	if !o.shakes(name) {
		return nil
	}
	text, points := s.withPoints()
	if points == 0 {
		return nil
	}
	o.points += points
	return o.put(name, text)
}

// shakes reports whether the file gets points.
func (o *overlay) shakes(name string) bool {
	if strings.HasSuffix(name, "_test.go") {
		return false
	}
	for _, dir := range shaken() {
		if filepath.Dir(name) == filepath.FromSlash(dir) {
			return true
		}
	}
	return false
}

// put replaces the content of a file with text.
func (o *overlay) put(name string, text []byte) error {
	target := filepath.Join(o.dir, strings.ReplaceAll(filepath.ToSlash(name), "/", "_"))
	o.replace[filepath.Join(o.root, name)] = target
	return os.WriteFile(target, text, 0o600)
}
