package policy_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// traps makes small directories in the world, each with one trick; the corpus has the
// commands for them.
func (w *world) traps(kind string) {
	for name, text := range map[string]string{
		"work/.gitignore": "!.env\n!.aws\n!certs\n", "work/.docker/.env": secretText + " foo\n", "work/.env-local": secretText + " foo\n",
		"work/sub/y/plain.txt": "x\n", "home/.gitconfig": "[url \"https://" + secretText + ":x@example.com/\"]\n\tinsteadOf = https://example.com/\n",
		"work/t-odd/go.mod": "module x\n\n\fgo 1.99\n", "private/notes.txt": secretText + "\n",
		"work/-osub/x": "x\n", "work/t-rg/.ignore": "!.env\n", "work/t-rg/.env": secretText + "\n", "work/t-rg/a.txt": "x\n",
	} {
		if kind != "open" || !strings.Contains(name, "env") {
			w.file(name, text, 0o644)
		}
	}
	w.link("j", "sub/deep")
	w.link("-late", "../outside/secret.txt")
	w.link("-c", "../outside/secret.txt")
	w.link("-b", "../outside/secret.txt")
	if kind != "open" {
		w.link("sub/y/s.txt", "../../.env")
	}
	if _, err := exec.LookPath("git"); err != nil || kind != "repository" {
		return
	}
	w.ordinary("private", "notes.txt")
	// git skips .git, since its HEAD is invalid, and uses the directory.
	w.bare("work/t-head", w.evilConfig()+"\tbare = false\n\tworktree = "+w.work+"/t-head\n")
	w.bare("work/t-head/.git", plainConfig)
	w.file("work/t-head/.git/HEAD", "nothing\n", 0o644)
	w.file("work/t-head/f", "x\n", 0o644)
	w.remove("work/t-head/hooks", "work/t-head/.git/hooks")
	// Half a repository, whose other half is in another folder.
	w.bare("work/t-bare2/other", w.evilConfig()+"\tbare = false\n\tworktree = "+w.work+"/t-bare2\n")
	w.remove("work/t-bare2/other/hooks")
	w.file("work/t-bare2/HEAD", "ref: refs/heads/main\n", 0o644)
	w.file("work/t-bare2/commondir", "other\n", 0o644)
	w.ordinary("work/t-env", ".env")
	// A space that belongs to the name.
	w.ordinary("work/t-space", "f")
	w.move("work/t-space/.git", "work/t-space/ own")
	w.file("work/t-space/ own/config", w.evilConfig(), 0o644)
	w.bare("work/t-space/own", plainConfig)
	w.remove("work/t-space/own/hooks")
	w.file("work/t-space/.git", "gitdir:  own\n", 0o644)
	// The objects of another repository.
	w.file("work/t-common/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	w.file("work/t-common/.git/commondir", w.root+"/private/.git\n", 0o644)
	w.ordinary("work/t-objects", "f")
	w.remove("work/t-objects/.git/objects", "work/t-objects/.git/refs")
	w.link("t-objects/.git/objects", w.root+"/private/.git/objects")
	w.link("t-objects/.git/refs", w.root+"/private/.git/refs")
	// git's own state files.
	w.ordinary("work/t-rebase", "f")
	w.file("work/t-rebase/.git/rebase-merge/onto", "x\n", 0o644)
	w.link("t-rebase/.git/rebase-merge/head-name", w.root+"/outside/secret.txt")
	// A submodule with a mode that git never writes.
	w.ordinary("work/t-index", "f")
	w.ordinary("work/t-index/m", "f")
	w.git("work/t-index", "add", "-f", "m")
	w.git("work/t-index", "commit", "-qm", "m")
	w.patchIndex("work/t-index/.git/index")
	w.file("work/t-index/m/.git/config", w.evilConfig(), 0o644)
	// A tracked directory that is now a link.
	w.ordinary("work/t-link", "d/secret.txt")
	w.remove("work/t-link/d")
	w.link("t-link/d", "../../outside")
	w.git("work", "remote", "add", "origin", "https://example.com/x")
}

const plainConfig = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(name, target string) {
	w.must(os.Symlink(target, filepath.Join(w.work, name)))
}

func (w *world) move(from, to string) {
	w.must(os.Rename(filepath.Join(w.root, from), filepath.Join(w.root, to)))
}

func (w *world) remove(names ...string) {
	for _, name := range names {
		w.must(os.RemoveAll(filepath.Join(w.root, name)))
	}
}

// ordinary makes a repository with one file in one commit.
func (w *world) ordinary(dir, name string) {
	if _, err := os.Stat(filepath.Join(w.root, dir, name)); err != nil {
		w.file(dir+"/"+name, secretText+"\n", 0o644)
	}
	w.git(dir, "init", "-q")
	w.git(dir, "add", "-f", name)
	w.git(dir, "commit", "-qm", "one")
}

// patchIndex gives submodules a mode that git treats as the same.
func (w *world) patchIndex(name string) {
	path := filepath.Join(w.root, name)
	data, err := os.ReadFile(path)
	w.must(err)
	at := bytes.Index(data, binary.BigEndian.AppendUint32(nil, 0o160000))
	data[at+2] = 0xe1
	w.must(os.WriteFile(path, data, 0o644))
}
