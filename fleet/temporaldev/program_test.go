package temporaldev

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// install writes a program that prints a line.
func install(t *testing.T, dir, name, prints string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+prints+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFind: an installed temporal precedes settle's build unless its server is too old, and
// a variable precedes both. Without any, the error says how to get one.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, temporal string
		own            bool
		want, says     string
	}{
		{name: "nothing", says: "settle-fleet-temporal beside settle-fleet"},
		{name: "only settle's", own: true, want: ownName},
		{name: "both", temporal: "temporal version 1.9.1 (Server 1.32.1, UI 2.58.0)", own: true, want: officialName},
		{name: "old", temporal: "temporal version 1.5.1 (Server 1.29.1, UI 2.45.0)", own: true, want: ownName},
		{name: "only an old temporal", temporal: "temporal version 1.5.1 (Server 1.29.1, UI 2.45.0)", says: "1.29"},
		{name: "another temporal", temporal: "hello", says: "does not print the version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir+":/bin:/usr/bin")
			if c.temporal != "" {
				install(t, dir, officialName, c.temporal)
			}
			if c.own {
				install(t, dir, ownName, "")
			}
			p, err := Find(t.Context(), "")
			if c.want != "" && (err != nil || p.Path() != filepath.Join(dir, c.want)) {
				t.Errorf("%q, %v", p.Path(), err)
			}
			if c.says != "" && (!errors.As(err, new(*MissingError)) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v", err)
			}
		})
	}
	named := install(t, t.TempDir(), "temporal", "")
	if p, err := Find(t.Context(), named); err != nil || p.Path() != named || !p.isOfficial {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Find(t.Context(), "/nowhere/temporal"); err == nil || !strings.Contains(err.Error(), ProgramVar) {
		t.Errorf("%v", err)
	}
}

// TestOfficialArguments: temporal listens on the loopback interface only, keeps its state in
// the file, and has fairness on.
func TestOfficialArguments(t *testing.T) {
	o := Options{File: "/d/temporal.db", Port: 7233, UI: true, UIPort: 8233}
	got := Program{path: "temporal", isOfficial: true}.args(o)
	for _, want := range [][]string{
		{"server", "start-dev"},
		{"--ip", "127.0.0.1"},
		{"--port", "7233"},
		{"--ui-port", "8233"},
		{"--db-filename", "/d/temporal.db"},
		{"--namespace", "default"},
		{"--dynamic-config-value", "matching.enableFairness=true"},
	} {
		if n := slices.Index(got, want[0]); n < 0 || got[n+1] != want[1] {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// TestStartReportsEnd: a program that ends before it is ready is reported with its log.
func TestStartReportsEnd(t *testing.T) {
	dir := t.TempDir()
	p, err := Find(t.Context(), install(t, dir, "settle-fleet-temporal", "no such option"))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	if _, err := p.Start(
		t.Context(),
		Options{Log: log},
	); err == nil || !strings.Contains(err.Error(), log) || !strings.Contains(err.Error(), "no such option") ||
		!strings.Contains(err.Error(), "it has ended") {
		t.Errorf("%v", err)
	}
}
