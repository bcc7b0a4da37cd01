package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The tests run side by side, and know their commands by how long these sleep:
// no two files may use the same time.
func TestSleepTimesAreUnique(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*_test.go", "testdata/script/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	used := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, seconds := range regexp.MustCompile(`\b[6-9][0-9]\.[0-9]\b`).FindAllString(string(raw), -1) {
			if other := used[seconds]; other != "" && other != file {
				t.Errorf("%s and %s both sleep for %s s", other, file, seconds)
			}
			used[seconds] = file
		}
	}
	if len(used) < 10 {
		t.Errorf("only %d times found", len(used))
	}
}
