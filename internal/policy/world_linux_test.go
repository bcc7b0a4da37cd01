package policy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fill makes the hostile directory. A program of it that runs records this in the file ran;
// files that must not be shown contain the text of the secret.
func (w *world) fill(kind string) {
	recorder := "#!/bin/sh\necho \"$0 $*\" >> " + w.ran + "\ncat >/dev/null 2>&1\n"
	script := func(name string) { w.file(name, recorder, 0o755) }
	for _, name := range programs() {
		for _, dir := range []string{"work", "work/sub", "work/sub/deep", "work/bin"} {
			script(dir + "/" + name)
		}
	}
	script("evil")
	for _, dir := range []string{"home", "tmp", "outside"} {
		if err := os.MkdirAll(filepath.Join(w.root, dir), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"work/a.txt": "a\nb\nfoo\nb\n", "work/b.txt": "b\n", "work/main.go": "package main // foo\n", "work/README.md": "# readme\nfoo\n",
		"work/sub/deep/x.go": "package deep\n", "work/sub/c.txt": "1\n2\nfoo\n", "work/Makefile": "$(shell " + w.root + "/evil make)\nall:\n\t" + w.root + "/evil\n",
		"work/package.json": `{"name":"x","scripts":{"test":"` + w.root + `/evil"}}`, "work/.ripgreprc": "--pre=" + w.root + "/evil\n",
		"work/.npmrc": "onload-script=" + w.root + "/evil\n", "work/rust-toolchain.toml": "[toolchain]\npath = \"" + w.work + "\"\n",
		"work/.tool-versions": "python path:" + w.work + "\n", "work/.python-version": "../../work\n", "work/.bashrc": w.root + "/evil\n",
		"work/.profile": w.root + "/evil\n", "work/.gitattributes": "* filter=evil diff=evil merge=evil\n", "work/.gitmodules": "[submodule \"m\"]\n\tpath = m\n\turl = ext::" + w.root + "/evil\n\tupdate = !" + w.root + "/evil\n",
		"work/-n": "n\n", "work/-rf": "x\n", "work/--compress-program=.%evil": "x\n", "work/--pre=evil": "x\n", "work/-delete": "x\n", "work/-f.env": "x\n",
		"work/-o": "x\n", "work/--output=pwned": "x\n", "work/w pwned": "x\n", "work/0": "x\n",
		"work/.info": "x\n", "work/mod/go.mod": "module x\n\ngo 1.99\n\ntoolchain go1.99.9\n", "work/go.mod": "module x\n\ngo 1.21\n",
		"outside/secret.txt": secretText, "home/.ssh/id_rsa": secretText, "home/.netrc": secretText, "home/.bash_history": secretText,
		"work/.env": "TOKEN=" + secretText + "\nfoo\n", "work/sub/.env.local": secretText + " foo\n", "work/certs/server.pem": secretText + " foo\n",
		"work/id_rsa": secretText + " foo\n", "work/.aws/credentials": secretText + " foo\n",
	} {
		if kind != "open" || !strings.HasPrefix(name, "work/") || !strings.Contains(text, secretText) {
			w.file(name, text, 0o644)
		}
	}
	for name, target := range map[string]string{"out": "..", "leak": ".env", "in": "sub", "stolen.txt": "../outside/secret.txt", "sub/up": "..", "sub/l": "../.aws"} {
		if err := os.Symlink(target, filepath.Join(w.work, name)); err != nil {
			w.t.Fatal(err)
		}
	}
	w.bare("work/bare", w.evilConfig()+"\tbare = true\n")
	if _, err := exec.LookPath("git"); err == nil && kind != "plain" {
		w.repository(kind)
	}
	w.traps(kind)
}

func (w *world) file(name, text string, mode os.FileMode) {
	path := filepath.Join(w.root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// bare makes a repository without git, because a committed one would look like it.
func (w *world) bare(at, config string) {
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config, "objects/info/keep": "", "refs/heads/keep": ""} {
		w.file(at+"/"+name, text, 0o644)
	}
	for _, hook := range []string{"post-index-change", "pre-commit", "fsmonitor-watchman"} {
		w.file(at+"/hooks/"+hook, "#!/bin/sh\necho hook >> "+w.ran+"\n", 0o755)
	}
}

func (w *world) evilConfig() string {
	return strings.ReplaceAll(`[diff]
	external = EVIL
[diff "evil"]
	textconv = EVIL
	command = EVIL
[filter "evil"]
	clean = EVIL
	smudge = EVIL
	process = EVIL
	required = true
[pager]
	log = EVIL
[gpg]
	program = EVIL
[include]
	path = ../../evil.config
[alias]
	st = !EVIL
[core]
	repositoryformatversion = 0
	pager = EVIL
	editor = EVIL
	sshCommand = EVIL
	fsmonitor = EVIL
	hooksPath = EVIL-hooks
`, "EVIL", w.root+"/evil")
}

func (w *world) git(dir string, args ...string) {
	cmd := exec.Command(
		"git",
		append(
			[]string{
				"-c",
				"user.name=x",
				"-c",
				"user.email=x@y",
				"-c",
				"commit.gpgsign=false",
				"-c",
				"init.defaultBranch=main",
			},
			args...)...)
	cmd.Dir, cmd.Env = filepath.Join(w.root, dir), w.environ
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (w *world) repository(kind string) {
	w.git("work", "init", "-q")
	add := []string{
		"add",
		"-f",
		"a.txt",
		"main.go",
		"README.md",
		"sub/c.txt",
		"sub/deep/x.go",
		".gitattributes",
		"Makefile",
		"go.mod",
	}
	if kind == "tracked" {
		add = append(add, ".env", "certs/server.pem")
	}
	w.git("work", add...)
	w.git("work", "commit", "-qm", "first foo")
	w.git("work", "tag", "v1")
	w.file("work/a.txt", "a\nb\nfoo\nchanged\n", 0o644)
	if kind == "tracked" {
		w.file("work/.env", "TOKEN="+secretText+"2\nfoo\n", 0o644)
	}
	w.git("work", "commit", "-qam", "second")
	w.file("work/README.md", "# readme\nfoo, and a change\n", 0o644)
	w.file("work/nested/a.txt", "x\n", 0o644)
	w.git("work/nested", "init", "-q")
	w.git("work/nested", "add", "a.txt")
	w.git("work/nested", "commit", "-qm", "nested")
	if kind == "submodule" {
		w.git("work", "add", "-f", "nested")
		w.git("work", "commit", "-qm", "submodule")
	}
	w.file("work/nested/.git/config", w.evilConfig(), 0o644)
	if kind == "evil" {
		w.file("work/.git/config", w.evilConfig(), 0o644)
	}
	if kind == "tracked" || kind == "evil" {
		w.file("work/.git/hooks/post-index-change", "#!/bin/sh\necho hook >> "+w.ran+"\n", 0o755)
	}
	w.file("evil-hooks/post-index-change", "#!/bin/sh\necho hook >> "+w.ran+"\n", 0o755)
}

func programs() []string {
	return strings.Fields(
		`ls cat head tail wc grep egrep fgrep rg find sed sort uniq cut tr diff cmp comm git go tree du df stat file realpath readlink
		basename dirname which nl tac rev fold column od hexdump paste cksum md5sum sha1sum sha256sum jq uname whoami nproc uptime hostname id
		date sleep seq echo printf test true false pwd cd sh bash less more man gpg ssh ssh-keygen xz gzip bzip2 zstd pr node python python3 make gcc
		command type env evil go1.99.9 compile git-log git-status`,
	)
}
