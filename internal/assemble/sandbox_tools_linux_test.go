//go:build machine

package assemble

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

// Common tools work in the sandbox: with socket pairs, child processes, their own pids, and
// in the folder for temporary files.
func TestToolsWorkInTheSandbox(t *testing.T) {
	if !confines(t) {
		return
	}
	files := map[string]string{
		"go.mod": "module m\n\ngo 1.24\n", "m.go": "package m\n\nfunc One() int { return 1 }\n",
		"m_test.go":    "package m\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestOne(t *testing.T) {\n\tif out, err := exec.Command(\"echo\", \"x\").Output(); err != nil || string(out) != \"x\\n\" {\n\t\tt.Fatal(string(out), err)\n\t}\n}\n",
		"package.json": `{"name": "m", "version": "1.0.0", "scripts": {"hello": "node -p 6*7"}}`,
		"fork.js":      `const {fork, execFileSync} = require("child_process"); if (process.send) { process.send("from " + execFileSync("echo", ["child"])); process.disconnect() } else fork(__filename).on("message", m => console.log("got", m))`,
		"watch.js":     `const fs = require("fs"); const w = fs.watch(".", (_, name) => { if (name === "seen") { console.log("saw", name); w.close() } }); fs.writeFileSync("seen", "")`,
		"loop.py": `import asyncio, os, socket, sys
async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('child')", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    a, b = socket.socketpair()
    r, w = await asyncio.open_connection(sock=a)
    b.sendall(b"pair\n")
    print(out.decode().strip(), (await r.readline()).decode().strip(), len([d for d in os.listdir("/proc") if d.isdigit()]) < 6)
asyncio.run(main())
`,
		"Cargo.toml":  "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/main.rs": "fn main() { let o = std::process::Command::new(\"echo\").arg(\"rust\").output().unwrap(); print!(\"{}\", String::from_utf8_lossy(&o.stdout)); }\n",
		"c/m.c":       "#include <stdio.h>\nint main(void) { puts(\"from C\"); return 0; }\n",
		"Makefile":    "all: a b\na b:\n\t@echo made $@\n",
	}
	list := []struct{ program, command, want string }{
		{
			"git",
			"git init -q r && cd r && echo x >f && git add f && git -c user.name=n -c user.email=e commit -qm one && git log --format=%s && git gc -q && git clone -q . ../r2 && git -C ../r2 log --format=again-%s",
			"one\nagain-one",
		},
		{"go", "go vet . && go test . && go build -o m .", "ok  \tm"},
		{"node", "node fork.js", "got from child"},
		{"node", "node watch.js", "saw seen"},
		{"npm", "npm run hello --silent", "42"},
		{"python3", "python3 loop.py", "child pair True"},
		{"cargo", "cargo run -q --offline", "rust"},
		{"gcc", "export ASAN_OPTIONS=detect_leaks=0; gcc -fsanitize=address -o c/m c/m.c && ./c/m", "from C"},
		{"make", "make -j4", "made a"},
		{
			"ps",
			"sleep 100 & ps -e -o comm= | sort | uniq -c | tr -s ' '; kill %1; pgrep -c sleep; echo done",
			"1 sleep",
		},
		{"sh", "(sleep 0.01; echo later) & wait; echo $!; kill -0 $$ && echo alive", "alive"},
	}
	var commandList []string
	for _, c := range list {
		commandList = append(commandList, c.command)
	}
	a := inSandbox(t, settle.Ask, "[sandbox]\nuse='required'", func(o *Options) {
		o.Sandbox = config.SandboxRequired
		for name, content := range files {
			path := filepath.Join(o.Dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o.Environ = slices.Concat(os.Environ(), []string{"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local"})
	}, commands(commandList...))
	calls := outputs(t, a)
	for i, c := range list {
		if _, err := exec.LookPath(c.program); err != nil {
			t.Logf("there is no %s here", c.program)
			continue
		}
		if got := calls[i].Content().Output; !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.command, got)
		}
	}
}
