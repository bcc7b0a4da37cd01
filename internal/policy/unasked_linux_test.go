package policy_test

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// thief draws commands that show secrets of the environment and of the directory.
type thief struct{ generator }

// target returns a file with a secret, in one of a shell's notations.
func (g thief) target() string {
	return g.pick(".env", "./.env", "sub/.env.local", "certs/server.pem", "id_rsa", ".aws/credentials", "leak", "sub/l/credentials", `"$PWD/.env"`, ".e*", ".[e]nv", ".??v",
		"$(echo .e)nv", "/proc/self/cwd/.env", "../work/.env", "out/work/.env", `"$(printf .en)"v`, "sub/up/.env", "in/../id_rsa", "certs/*", ".a*/c*", "*", ".*", "in/.env*",
		"/proc/self/root$PWD/.env", "//$PWD/.env", "id_{rsa,x}", "$(ls -a | grep env)", "./sub/../certs/./server.pem", "cert?/server.pe[m]", "-- .env", "$(find . -name '*.pem')")
}

func (g thief) file() string {
	return strings.ReplaceAll(g.pick("cat @", "head -c 999 @", "tail @", "base64 -w0 @ | base64 -d", "od -c @ | tr -d ' \\n'", "sed -n p @", "awk 1 @", "grep '' @", "nl @", "sort @", "tac @ | tac",
		"while read l; do echo $l; done <@", "x=$(cat @); echo $x", "mapfile -t a < @; echo ${a[@]}", `bash -c "cat @"`, "sh -c 'cat \"$@\"' x @", "eval cat @", "xargs cat <<<'@'", "dd if=@ 2>&1",
		"cp @ /dev/stdout", "tar cf - @ | tar xOf -", "gzip -c @ | gzip -dc", "diff /dev/null @", "git diff --no-index /dev/null @", "git hash-object -w @; git grep --no-index CANARY @",
		"cut -c1-99 @", "tr a a <@", "tee </dev/null; cat <@", "paste @", "fold @", "rev @ | rev", "env cat @", "timeout 5 cat @", "find @ -exec cat {} +", "strings @", "cmp -l /dev/null @; cat @",
		`perl -pe 1 @`, `perl -e 'open F,shift; print <F>' @`, `python3 -c 'import sys; print(open(sys.argv[1]).read())' @`, `awk '{print}' @`, ". ./@; set", "set -a; . @; env", "source @; echo $TOKEN",
		"ln -s @ y; cat y", "ln @ y; cat y", "mv @ y; cat y", "exec 3<@; cat <&3", "exec 3<@; cat /proc/self/fd/3", "(cd sub && cat ../@)", "cat < @", "cat @ &", "jq -R . @", "curl -s file://$PWD/@",
		"git check-ignore -v --no-index @; cat @", "busybox cat @", "chmod 644 @; cat @", "unshare -r cat @", "cat @ | cat", "printf '%s' \"$(<@)\"", "vim -es -c '%p' -c q @", "openssl base64 -in @ | base64 -d",
		"ls -la @; cat @", "stat @; cat @", "grep -rn CANARY .", "grep -r '' @", "find . -type f -exec cat {} +", "tar cf - . | tar xOf -", "cat $(git ls-files -o)", "rg -uu CANARY", "git grep --no-index CANARY", "cat * .*",
		"for f in $(find .); do cat $f; done", "ls -a | xargs cat", "tail -n 99 -- * .*", "python3 -c 'import os\nfor d,_,n in os.walk(\".\"):\n for f in n: print(open(os.path.join(d,f)).read())'"), "@", g.target())
}

func (g thief) environment() string {
	return g.pick("env", "printenv", "printenv SECRET", "echo $SECRET", `echo "${SECRET}"`, "set", "export -p", "declare -p", "cat /proc/self/environ", "cat /proc/$$/environ", "strings /proc/$$/environ",
		"cat /proc/*/environ", "cat /proc/$PPID/environ", "tr '\\0' '\\n' </proc/self/environ", `awk 'BEGIN{for(k in ENVIRON)print ENVIRON[k]}'`, `python3 -c 'import os; print(os.environ)'`, `perl -e 'print values %ENV'`,
		"bash -c set", "sh -c 'echo $SECRET'", `v=SECRET; echo ${!v}`, "env | sort", "ps eww", "ps auxeww", "xargs -0 -n1 </proc/self/environ", "cat /proc/self/task/*/environ", "bash -ic env", "busybox env", "compgen -v; echo $SECRET",
		"git config --get-all x; git var -l; env", "make -p", "typeset", "node -e 'console.log(process.env)'", "jq -n env", "cat /proc/thread-self/environ", "find /proc -maxdepth 2 -name environ -exec cat {} + 2>/dev/null")
}

func (g thief) command() string {
	text := g.file()
	if g.random.IntN(4) == 0 {
		text = g.environment()
	}
	for g.random.IntN(4) == 0 {
		text = g.pick("true && ", "cd sub; cd ..; ", "ls; ", "( ", "! ", "echo x | ", ": ; ") + text
		if strings.HasPrefix(text, "( ") {
			text += " )"
		}
	}
	if g.random.IntN(5) == 0 {
		text = g.mutate(text)
	}
	return text
}

// newUnaskedWorld returns a directory with secrets, whose read-only sandbox runs commands
// without an approval.
func newUnaskedWorld(t testing.TB) *world {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, work: filepath.Join(root, "work"), marker: "SETTLE_ORACLE=" + root, shells: [][]string{{"/bin/sh", "-c"}}}
	if bash, err := exec.LookPath("bash"); err == nil {
		w.shells[0][0] = bash
	}
	w.environ = []string{
		"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(root, "home"), "LANG=C.UTF-8", "SECRET=" + secretText, "AWS_SECRET_ACCESS_KEY=" + secretText,
		"DATABASE_URL=postgres://app:" + secretText + "@db/app", w.marker,
	}
	plant(t, root, map[string]string{
		"work/a.txt": "a\nfoo\n", "work/b.txt": "b\n", "work/main.go": "package main\n", "work/sub/c.txt": "1\n", "work/sub/deep/x.go": "package deep\n", "home/.gitconfig": "[user]\n",
		"work/.env": "TOKEN=" + secretText + "\n", "work/sub/.env.local": secretText, "work/certs/server.pem": secretText, "work/id_rsa": secretText, "work/.aws/credentials": secretText,
		"work/.ssh/id_x": secretText, "work/sub/deep/.docker/config.json": secretText, "home/.ssh/id_x": secretText, "outside/secret.txt": secretText,
		"work/leak": "-> .env", "work/in": "-> sub", "work/out": "-> ..", "work/sub/up": "-> ..", "work/sub/l": "-> ../.aws", "work/stolen.txt": "-> ../outside/secret.txt",
	})
	if _, err := exec.LookPath("git"); err == nil {
		w.git("work", "init", "-q")
		w.git("work", "add", "a.txt", "sub/c.txt")
		w.git("work", "commit", "-qm", "first foo")
	}
	confinement := sandbox.ReadOnly(filepath.Join(root, "home"), "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", w.work)
	w.confinement = &confinement
	w.policy, err = policy.New(policy.Config{
		Mode: mode(event.Ask), Dir: w.work, Home: filepath.Join(w.root, "home"), Environ: w.environ, Confine: true, Sandbox: func(policy.Mode) event.Sandbox { return event.ReadOnly },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// withhold withholds the secrets from commands in the world.
func (w *world) withhold() {
	secret := policy.Withhold(nil)
	w.environ = slices.DeleteFunc(slices.Clone(w.environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return secret(name, value)
	})
	found, err := new(policy.SecretFiles).Below(nil, w.work)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range found {
		hidden, err := sandbox.Find(path)
		if err != nil {
			w.t.Fatal(err)
		}
		w.confinement.Hide = append(w.confinement.Hide, hidden)
	}
}

// shows reports whether a command runs without an approval, and whether its output then
// contains a secret.
func (w *world) shows(command string) (unasked, shown bool) {
	j := w.policy.Judge(shell(w.t, command))
	if j.Decision != event.Allow {
		return false, false
	}
	if j.Secrets != event.SecretsWithheld || j.Sandbox != event.ReadOnly {
		w.t.Errorf("%q runs without a question, in the sandbox %q with secrets %q", command, j.Sandbox, j.Secrets)
	}
	out, _ := w.run(append(w.shells[0][:len(w.shells[0]):len(w.shells[0])], command))
	return true, bytes.Contains(out, []byte(secretText))
}

// Commands that run without an approval, as with settle exec -s read-only, show no secret
// of the environment and no file with a secret in the working directory: the kernel
// refuses. Without the sandbox, the same commands show some.
func TestUnaskedCommandsShowNoSecrets(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	share := max(15, min(40, *commandCount))
	drawn, seed := max(share, *commandCount), *commandSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	g := thief{generator{random: rand.New(rand.NewPCG(seed, 3)), corpus: slices.Concat(lines(t, "everyday.txt"), lines(t, "harmful.txt"))}}
	commands := make([]string, drawn)
	for i := range commands {
		commands[i] = g.command()
	}
	for _, view := range []bool{false, true} {
		if _, err := proc.Prove(t.Context(), sandbox.Policy{View: view}, nil); err != nil {
			t.Logf("view %v: %v", view, err)
			continue
		}
		open, closed := newUnaskedWorld(t), newUnaskedWorld(t)
		closed.confinement.View = view
		closed.withhold()
		unasked, before := 0, 0
		for i, command := range commands {
			ran, shown := closed.shows(command)
			if shown {
				t.Errorf("seed %d, view %v: %q shows a secret", seed, view, command)
			}
			if ran {
				unasked++
			}
			if i < share { // the oracle can fail
				if _, shown := open.shows(command); shown {
					before++
				}
			}
		}
		t.Logf("seed %d, view %v: %d commands, %d without a question; of the first %d, %d would have shown a secret", seed, view, drawn, unasked, share, before)
		if before < share/10 || unasked < drawn/4 {
			t.Error("hardly any command would have shown a secret; the oracle says nothing")
		}
		if left := closed.processes() + open.processes(); left != "" {
			t.Errorf("a process is left: %s", left)
		}
	}
}
