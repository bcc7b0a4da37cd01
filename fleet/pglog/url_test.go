package pglog

import "testing"

// TestPoolIsBounded: the number of connections does not depend on the machine, and a URL can say another one.
func TestPoolIsBounded(t *testing.T) {
	for text, want := range map[string]int32{
		"postgres://db/settle":                   maxConns,
		"host=db dbname=settle":                  maxConns,
		"postgres://db/settle?pool_max_conns=3":  3,
		"host=db dbname=settle pool_max_conns=3": 3,
	} {
		c, err := ParseConfig(text)
		if err != nil || c.MaxConns != want {
			t.Errorf("%q has %+v, %v", text, c, err)
		}
	}
}
