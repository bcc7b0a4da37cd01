package sandbox

import (
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// ProbeScript tries each escape with the shell and standard UNIX programs. Because settle itself
// need not be in the sandbox, the script also shows that these programs work there. [ReadProbe]
// reads its output. Proxy of the target is the number of the proxy's port.
func ProbeScript(b ProbeTarget) string {
	var s strings.Builder
	line := func(words ...string) { s.WriteString(strings.Join(words, " ") + "\n") }
	try := func(what string, words ...string) { line("try", word(what), strings.Join(words, " ")) }
	target, file, kept := word(b.Dir+"/target"), word(b.Room+"/file"), word(b.Room+"/keeper/kept")
	s.WriteString(`n=0
try() { what=$1; shift; n=$((n+1)); if ("$@") >/dev/null 2>&1; then echo "out: $what"; fi; }
works() { what=$1; shift; if ("$@") >/dev/null 2>&1; then :; else echo "stuck: $what"; fi; }
write() { echo x >> "$1"; }
connect() { exec /bin/bash -c "exec 3<>/dev/tcp/127.0.0.1/$1"; }
`)
	line("works reading cat", file)
	try("reading a file", "cat", target)
	try("listing a folder", "ls", word(b.Dir))
	try("a signal", "kill -0", strconv.Itoa(b.Host))
	try("a link to a file", "ln", target, word(b.Room+"/linked"))
	try("making a file", "write", word(b.Dir+"/made"))
	try("making a folder", "mkdir", word(b.Dir+"/dir"))
	try("a mode outside", "chmod 600", target)
	try("writing a file", "write", target)
	try("moving a file in", "mv", target, word(b.Room+"/moved"))
	try("renaming a file", "mv", target, word(b.Dir+"/target2"))
	try("removing a file", "rm", target)
	if b.Writes {
		line("works writing write", word(b.Room+"/made"))
		line("ln -s", target, word(b.Room+"/link"))
		try("a symbolic link", "write", word(b.Room+"/link"))
	} else {
		try("writing in the folder", "write", file)
		try("a mode in the folder", "chmod 600", file)
	}
	if b.Writes && b.View {
		try("a protected file", "write", kept)
		try("a mode of a protected file", "chmod 600", kept)
		try("renaming a protected file", "mv", kept, kept+"2")
		try("replacing a protected file", "mv", word(b.Room+"/made"), kept)
		try("removing a protected file", "rm", kept)
		try("renaming the folder of a protected file", "mv", word(b.Room+"/keeper"), word(b.Room+"/elsewhere"))
	}
	if b.Network != Online {
		try("TCP", "connect", strconv.Itoa(b.Server))
	}
	if b.Network == Proxied {
		line(`works "reaching the proxy" connect`, word(b.Proxy))
	}
	line(`echo "tried: $n"`)
	return s.String()
}

// word quotes a word of a shell script.
func word(s string) string { return terminal.ShellWord(s) }

// ReadProbe parses the output of a [ProbeScript].
func ReadProbe(output string) (e Escapes) {
	for line := range strings.Lines(output) {
		what, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch what {
		case "out":
			e.Out = append(e.Out, rest)
		case "stuck":
			e.Stuck = rest
		case "tried":
			e.Tried, _ = strconv.Atoi(rest)
		}
	}
	return e
}
