package main

import (
	"testing"

	"github.com/settle-agent/settle/fleet/pglog"
)

// TestConnections: the number of connections is that of the address, else that of the variable, else the default.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		address, variable string
		want              int32 // 0 is an error
	}{
		{"postgres://u:p@db/settle", "", 8},
		{"postgres://u:p@db/settle", "3", 3},
		{"postgresql://u:p@db/settle?sslmode=require", "3", 3},
		{"host=db dbname=settle", "3", 3},
		{"postgres://u:p@db/settle?pool_max_conns=5", "3", 5},
		{"postgres://u:p@db/settle", "0", 0},
		{"postgres://u:p@db/settle", "many", 0},
	} {
		address, err := withConnections(c.address, c.variable)
		if err != nil {
			if c.want != 0 {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		config, err := pglog.ParseConfig(address)
		if err != nil || config.MaxConns != c.want || config.ConnConfig.Database != "settle" {
			t.Errorf("%+v: %q, %v", c, address, err)
		}
	}
}
