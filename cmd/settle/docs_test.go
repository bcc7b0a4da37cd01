package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/config"
)

// sections are the chapters of the reference by their titles.
func sections(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		all[title] = body
	}
	return all
}

// cells returns the matches in the first column of a section's tables.
func cells(section, pattern string) []string {
	found := map[string]bool{}
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		first, _, _ := strings.Cut(line[2:], " | ")
		for _, match := range regexp.MustCompile(pattern).FindAllString(first, -1) {
			found[match] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// namesOf returns the names of flags, long and short.
func namesOf(flags *pflag.FlagSet) map[string]bool {
	all := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		all["--"+f.Name] = true
		if f.Shorthand != "" {
			all["-"+f.Shorthand] = true
		}
	})
	return all
}

// flagsOf returns the flags of a command and of the commands below it, long and short.
func flagsOf(cmd *cobra.Command) map[string]bool {
	all := namesOf(cmd.LocalFlags())
	for _, sub := range cmd.Commands() {
		maps.Copy(all, flagsOf(sub))
	}
	return all
}

// The reference names every flag of every command, and no other.
func TestReferenceHasTheFlags(t *testing.T) {
	chapters := sections(t)
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	settingFlags(settings)
	documented(t, "Setting flags", namesOf(settings), chapters["Setting flags"])
	for _, cmd := range newRoot(system()).Commands() {
		if cmd.Hidden || cmd.IsAdditionalHelpTopicCommand() || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		chapter, ok := chapters[cmd.CommandPath()]
		if !ok {
			t.Errorf("docs/reference/cli.md has no chapter %q", cmd.CommandPath())
			continue
		}
		flags := flagsOf(cmd)
		if strings.Contains(chapter, "](#setting-flags)") {
			settings.VisitAll(func(f *pflag.Flag) {
				if g := cmd.Flags().Lookup(f.Name); g != nil && len(g.Annotations) != len(f.Annotations) {
					return // Codex's --sandbox
				}
				delete(flags, "--"+f.Name)
				delete(flags, "-"+f.Shorthand)
			})
		}
		documented(t, cmd.CommandPath(), flags, chapter)
		explained(t, cmd)
	}
}

// documented checks that a chapter names these flags, and no others.
func documented(t *testing.T, title string, flags map[string]bool, chapter string) {
	t.Helper()
	want := slices.Sorted(maps.Keys(flags))
	if diff := cmp.Diff(want, cells(chapter, "--?[a-zA-Z][a-z-]*"), cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		t.Errorf("%s (-flags +docs/reference/cli.md):\n%s", title, diff)
	}
}

// explained checks that each command has a page of help.
func explained(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if cmd.Short == "" || len(strings.Fields(cmd.Long)) < 10 {
		t.Errorf("%s does not explain itself", cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		explained(t, sub)
	}
}

// The reference and the help of run name the same exit codes.
func TestReferenceHasTheExitCodes(t *testing.T) {
	want := []string{"0", "1", "129", "130", "131", "141", "143", "2", "3"}
	if diff := cmp.Diff(want, cells(sections(t)["Exit codes"], `\b[0-9]+\b`)); diff != "" {
		t.Errorf("docs/reference/cli.md (-want +got):\n%s", diff)
	}
	for _, code := range want {
		if !regexp.MustCompile(`(?m)^  ` + code + ` +\S`).MatchString(runHelp) {
			t.Errorf("the help of run does not name exit code %s", code)
		}
	}
}

// Every variable that the reference names is read, and every one that is read
// is named.
func TestReferenceHasTheVariables(t *testing.T) {
	read := map[string]bool{
		"SSL_CERT_FILE": true,
		"NO_COLOR":      true,
		"TERM":          true,
		"HTTPS_PROXY":   true,
		"HTTP_PROXY":    true,
		"NO_PROXY":      true,
	} // by the transport
	read["CODEX_API_KEY"] = true // of the commands that replace Codex
	dir := t.TempDir()
	var presets strings.Builder
	for _, name := range config.Presets() {
		fmt.Fprintf(&presets, "[providers.my-%s]\npreset = %[1]q\n", name)
	}
	file := filepath.Join(dir, ".config", "settle", "config.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
		os.WriteFile(file, []byte(presets.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"HOME": dir, "AZURE_RESOURCE_NAME": "x", "GOOGLE_CLOUD_PROJECT": "x", "GOOGLE_CLOUD_LOCATION": "x",
		"AWS_DEFAULT_REGION": "x",
	}
	r, err := config.Load(config.Input{Dir: dir, Getenv: func(name string) string {
		read[name] = true
		return values[name]
	}, GOOS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Providers {
		read[p.KeyEnv] = true
	}
	delete(read, "")
	maps.Copy(read, readInSource(t))
	want := slices.Sorted(maps.Keys(read))
	if diff := cmp.Diff(want, cells(sections(t)["Environment"], "[A-Z][A-Z_]+")); diff != "" {
		t.Errorf("(-read +docs/reference/cli.md):\n%s", diff)
	}
}

// readInSource returns the variables that the source reads by a literal name.
func readInSource(t *testing.T) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	reads := regexp.MustCompile(`\b(?:[gG]etenv|number|get)\("([A-Z][A-Z_]+)"\)|\bvariable\([\w.]+, "([A-Z][A-Z_]+)"\)`)
	for _, top := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"test", "clienttest", "execservertest", "house"}, d.Name()):
				return filepath.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			for _, match := range reads.FindAllStringSubmatch(string(text), -1) {
				read[match[1]+match[2]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	maps.DeleteFunc(read, func(name string, _ bool) bool {
		return name == "ALL_PROXY" || // which settle sets for its own program in a sandbox
			name == "TRACEPARENT" || strings.HasPrefix(name, "OTEL_") // docs/reference/opentelemetry.md
	})
	read["OTEL_EXPORTER_OTLP_ENDPOINT"] = true
	return read
}

// Every setting without a dot is a flag. The settings with a dot that the reference names are also
// flags.
func TestSettingsAreFlags(t *testing.T) {
	r, err := config.Load(config.Input{Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	settingFlags(settings)
	page, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Lines() {
		flag := strings.TrimSuffix(strings.NewReplacer("_", "-", ".", "-").Replace(l.Key), "-use")
		if named := strings.Contains(string(page), "`--"+flag+"`"); strings.Contains(l.Key, ".") &&
			named != (settings.Lookup(flag) != nil) {
			t.Errorf("setting %q: the reference names a flag: %v", l.Key, named)
		}
		if !strings.Contains(l.Key, ".") && settings.Lookup(strings.ReplaceAll(l.Key, "_", "-")) == nil {
			t.Errorf("setting %q is no flag", l.Key)
		}
	}
}
