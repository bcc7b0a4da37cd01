package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// otherWords matches words for answers and endings that are not in event/terms.go.
var otherWords = regexp.MustCompile(`(?i)approved? for (the |this )?session|allow for this session|` +
	`yes, once|abort turn|edits (files )?without asking|you are asked before|asks? about changes|` +
	`settle died|"read only"|"allow everything"`)

// otherFolders have no words for people, or words of earlier versions.
var otherFolders = []string{"node_modules", "adr", "e2e", "pictures"}

// Answers, permission modes and endings have the same words for people everywhere.
func TestTermsAreTheSameEverywhere(t *testing.T) {
	found := 0
	for _, top := range []string{"internal/frontend", "internal/client", "internal/policy", "docs"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && slices.Contains(otherFolders, d.Name()) {
					return filepath.SkipDir
				}
				return err
			}
			if !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".go") &&
				!strings.Contains(path, "/assets/") {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found++
			for _, words := range otherWords.FindAllString(string(text), -1) {
				t.Errorf("%s: %q; event/terms.go has the word", path, words)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 100 {
		t.Fatalf("only %d files were read", found)
	}
	// The one place that needs the words in a constant.
	form, err := os.ReadFile(filepath.Join("../..", "internal/frontend/mcp/elicit.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range event.AnswerTerms()[:5] {
		if label := strings.ToUpper(a.Words[:1]) + a.Words[1:]; !strings.Contains(string(form), `"`+label+`"`) {
			t.Errorf("the form of internal/frontend/mcp has no answer %q", label)
		}
	}
}
