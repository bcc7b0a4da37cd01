//go:build clients && linux

package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
)

// mcpScript is a script that writes and reads lines of JSON.
type mcpScript struct {
	t       *testing.T
	in      io.WriteCloser
	read    io.Closer
	out     *bufio.Scanner
	process *os.Process
	end     func() error
}

type mcpLine struct {
	ID     any
	Method string
	Result map[string]any
	Error  *struct{ Message string }
}

func (s *mcpScript) send(id any, method string, params any) {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "%s\n", raw); err != nil {
		s.t.Fatal(err)
	}
}

// until reads until a line is meant.
func (s *mcpScript) until(meant func(mcpLine) bool) mcpLine {
	s.t.Helper()
	for s.out.Scan() {
		var l mcpLine
		if err := json.Unmarshal(s.out.Bytes(), &l); err != nil {
			s.t.Fatalf("%q: %v", s.out.Text(), err)
		}
		if meant(l) {
			return l
		}
	}
	s.t.Fatalf("the output ended (%v)", s.out.Err())
	return mcpLine{}
}

func (s *mcpScript) answer(id any) map[string]any {
	s.t.Helper()
	l := s.until(func(l mcpLine) bool { return l.Method == "" && fmt.Sprint(l.ID) == fmt.Sprint(id) })
	if l.Error != nil {
		s.t.Fatalf("%v: %s", id, l.Error.Message)
	}
	return l.Result
}
