package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// help returns the output of a command line.
func help(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := newRoot(system())
	root.SetArgs(args)
	root.SetOut(&out)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRootHelpIsShort(t *testing.T) {
	const maxFlags = 20
	text := help(t, "--help")
	_, flags, _ := strings.Cut(text, "\nFlags:\n")
	if n := strings.Count(flags, "--") - strings.Count(flags, " --help\""); n > maxFlags || n < 5 {
		t.Errorf("the help shows %d flags, at most %d:\n%s", n, maxFlags, flags)
	}
	at := 0
	for _, name := range []string{"run", "resume", "sessions", "serve", "doctor", "acp", "exec", "executor"} {
		i := strings.Index(text[at:], "\n  "+name+" ")
		if i < 0 {
			t.Fatalf("%q is not in its place:\n%s", name, text)
		}
		at += i
	}
}

func TestHelpFlagsListsEverySetting(t *testing.T) {
	text := help(t, "help", "flags")
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	settingFlags(settings)
	rare := 0
	settings.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(text, "--"+f.Name+" ") && !strings.Contains(text, "--"+f.Name+"[=") {
			t.Errorf("there is no --%s in\n%s", f.Name, text)
		}
		if isRare(f.Name) {
			rare++
		}
	})
	if rare < 20 {
		t.Errorf("%d rare flags are settings", rare)
	}
}
