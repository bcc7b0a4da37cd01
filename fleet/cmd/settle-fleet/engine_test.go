package main

import "testing"

// TestTheServerOfTemporal is that of Temporal's own file before that of settle-fleet dev,
// unless the database is dev's.
func TestTheServerOfTemporal(t *testing.T) {
	for _, c := range []struct {
		flag, variable, file, devs string
		dev                        bool
		want                       string
	}{
		{"flag:1", "variable:1", "file:1", "dev:1", true, "flag:1"},
		{"", "variable:1", "file:1", "dev:1", true, "variable:1"},
		{"", "", "file:1", "dev:1", true, "dev:1"},
		{"", "", "file:1", "dev:1", false, "file:1"},
		{"", "", "", "dev:1", false, "dev:1"},
		{"", "", "file:1", "", true, "file:1"},
		{"", "", "", "", false, ""},
	} {
		t.Setenv("TEMPORAL_ADDRESS", c.variable)
		configured := c.file // the variable goes before the file there
		if c.variable != "" {
			configured = c.variable
		}
		if got := (&engineFlags{address: c.flag}).server(configured, c.devs, c.dev); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
