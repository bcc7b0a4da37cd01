package plugins

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	fetchTimeout = 3 * time.Minute
	// maxFetched bounds the files of a fetch, in bytes; they are measured each watchInterval.
	maxFetched    = 512 << 20
	watchInterval = 250 * time.Millisecond
	// maxTreeList bounds the list of a commit's files in bytes.
	maxTreeList = 16 << 20
)

// commit is the Snapshot of a commit: a bare repository without a checkout.
type commit struct {
	dir     string
	environ []string
	id      string
}

// fetch fetches one commit. git runs without the repository's hooks, filters and
// submodules, asks no question, and uses no other protocol than the address names.
func fetch(ctx context.Context, from Source, environ []string, scratch string) (Snapshot, error) {
	sweep(scratch)
	dir, err := os.MkdirTemp(scratch, fetchPrefix)
	if err != nil {
		return nil, err
	}
	c := &commit{dir: dir, environ: environ}
	if err := c.fetch(ctx, from); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot fetch %s: %w", from.Where, err), c.Close())
	}
	return c, nil
}

const (
	fetchPrefix = ".fetch-"
	// maxFetchAge is older than any fetch that still runs.
	maxFetchAge = time.Hour
)

// sweep removes the files that killed processes have fetched.
func sweep(scratch string) {
	entries, _ := os.ReadDir(scratch) // entries that cannot be listed stay
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), fetchPrefix) && time.Since(info.ModTime()) > maxFetchAge {
			_ = os.RemoveAll(filepath.Join(scratch, e.Name())) // the next fetch tries again
		}
	}
}

func (c *commit) fetch(ctx context.Context, from Source) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("it took more than %v", fetchTimeout))
	defer cancel()
	if _, err := c.git(ctx, "", nil, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	allowed := "https:ssh"
	if filepath.IsAbs(from.Where) {
		allowed = "file"
	}
	one := []string{
		"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--end-of-options", from.Where,
		orHead(from.Ref),
	}
	err := c.watched(ctx, allowed, one...)
	if err != nil && IsCommit(from.Ref) && ctx.Err() == nil { // some servers send named commits only
		all := append(slices.Clone(one[:2]), "--no-tags", "--no-recurse-submodules", "--end-of-options", from.Where,
			"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
		err = c.watched(ctx, allowed, all...)
	}
	if err != nil {
		return err
	}
	name := "FETCH_HEAD"
	if IsCommit(from.Ref) {
		name = from.Ref
	}
	out, err := c.git(ctx, "", nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if c.id = strings.TrimSpace(string(out)); err != nil || !IsCommit(c.id) {
		return fmt.Errorf("it has no commit %q", orHead(from.Ref))
	}
	if IsCommit(from.Ref) && c.id != from.Ref {
		return fmt.Errorf("%s is not a commit", from.Ref)
	}
	return nil
}

func orHead(ref string) string {
	if ref == "" {
		return "HEAD"
	}
	return ref
}

// watched runs git, and ends it when it has written too much.
func (c *commit) watched(ctx context.Context, allowed string, args ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go scope.Shield(func(error) {}, func() { // ends with ctx; this function waits for it
		defer close(done)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if sizeOf(c.dir) > maxFetched {
					cancel(fmt.Errorf("it has more than %d bytes", int64(maxFetched)))
				}
			}
		}
	})()
	_, err := c.git(ctx, allowed, nil, args...)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	<-done
	return err
}

// sizeOf is the size of all files in a directory in bytes.
func sizeOf(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil { // else it is gone
				total = bound.Add(total, info.Size())
			}
		}
		return nil
	})
	return total
}

// git runs git in the bare repository; allowed are the protocols that it may use.
func (c *commit) git(ctx context.Context, allowed string, stdin []byte, args ...string) ([]byte, error) {
	set := []string{
		"git", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
		"-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
		"-c", "transfer.fsckObjects=true", "-c", "protocol.allow=never", "-c", "credential.interactive=false",
	}
	env := append(assemble.Helper(c.environ),
		"GIT_DIR="+c.dir, "GIT_ALLOW_PROTOCOL="+allowed, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_SSH_COMMAND=ssh -o BatchMode=yes -o StrictHostKeyChecking=yes", "GIT_PAGER=cat", "GIT_NO_LAZY_FETCH=1",
		"GIT_PROTOCOL_FROM_USER=0", "GIT_LFS_SKIP_SMUDGE=1",
	)
	for _, entry := range c.environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(passed(), name) {
			env = append(env, entry)
		}
	}
	out, err := proc.Run(ctx, proc.Command{
		Argv: append(set, args...), Dir: c.dir, Env: env, Stdin: stdin, MaxBytes: maxOutput,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot run git: %w", err)
	case out.Truncated:
		return nil, errors.New("git prints too much")
	case !out.OK():
		text := terminal.Short(string(bytes.TrimSpace(out.Stderr)), 400)
		return nil, fmt.Errorf("git %s: exit code %d: %s", args[0], out.Code, text)
	}
	return out.Stdout, nil
}

// maxOutput bounds the output of git in bytes: all files, with a line for each.
const maxOutput = plugin.MaxTotal + maxTreeList

// passed are the variables of the user that git needs for its network.
func passed() []string {
	return []string{
		"SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
		"GIT_CONFIG_NOSYSTEM",
	}
}

func (c *commit) Commit() string { return c.id }

// Close removes the fetched files.
func (c *commit) Close() error { return os.RemoveAll(c.dir) }

// object is an entry of a commit's tree.
type object struct {
	mode, id, path string
	size           int64
}

// list returns the entries of the commit below a folder, or a file; "" for all.
func (c *commit) list(ctx context.Context, at string) (out []object, err error) {
	args := []string{"ls-tree", "-r", "-z", "-l", "--full-tree", c.id}
	if at != "" {
		args = append(args, "--", at)
	}
	text, err := c.git(ctx, "", nil, args...)
	if err != nil {
		return nil, err
	}
	if len(text) > maxTreeList {
		return nil, errors.New("the commit has too many files")
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		head, name, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			return nil, errors.New("git's list of files is not understood")
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64) // "-" of a submodule
		out = append(out, object{fields[0], fields[2], name, size})
	}
	return out, nil
}

// contents returns the contents of objects, in their order.
func (c *commit) contents(ctx context.Context, list []object) (out [][]byte, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	var ids strings.Builder
	for _, o := range list {
		ids.WriteString(o.id + "\n")
	}
	text, err := c.git(ctx, "", []byte(ids.String()), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		head, rest, ok := bytes.Cut(text, []byte("\n"))
		if want := fmt.Sprintf("%s blob %d", o.id, o.size); !ok || string(head) != want || int64(len(rest)) <= o.size {
			return nil, fmt.Errorf("git does not have the file %q", o.path)
		}
		out = append(out, rest[:o.size:o.size])
		text = rest[o.size+1:]
	}
	return out, nil
}

// File implements Snapshot.
func (c *commit) File(ctx context.Context, name string) ([]byte, error) {
	list, err := c.list(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		if o.path == name && strings.HasPrefix(o.mode, "100") {
			if o.size > maxListFile {
				return nil, fmt.Errorf("%q has %d bytes; the limit is %d", name, o.size, maxListFile)
			}
			data, err := c.contents(ctx, []object{o})
			if err != nil {
				return nil, err
			}
			return data[0], nil
		}
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Tree implements Snapshot.
func (c *commit) Tree(ctx context.Context, folder string) (t plugin.Tree, err error) {
	if err := checkFolder(folder); err != nil {
		return t, err
	}
	all, err := c.list(ctx, folder)
	if err != nil {
		return t, err
	}
	var files []object
	total := int64(0)
	for _, o := range all {
		name, below := strings.CutPrefix(o.path, folder+"/")
		if folder == "" {
			name, below = o.path, true
		}
		if o.path = name; !below {
			continue
		}
		if err := plugin.CheckPath(name); err != nil {
			return t, err
		}
		switch o.mode {
		case "100644", "100755", "100664":
			files = append(files, o)
			total = bound.Add(total, o.size)
		case "120000":
			t.Omitted = append(t.Omitted, fmt.Sprintf("%q, which is a symbolic link", name))
		default:
			t.Omitted = append(t.Omitted, fmt.Sprintf("%q, which is a submodule", name))
		}
		switch {
		case len(files)+len(t.Omitted) > plugin.MaxFiles:
			return t, fmt.Errorf("it has more than %d files", plugin.MaxFiles)
		case o.size > plugin.MaxFile:
			return t, plugin.TooLarge(name, o.size)
		case total > plugin.MaxTotal:
			return t, fmt.Errorf("its files have more than %d bytes", plugin.MaxTotal)
		}
	}
	contents, err := c.contents(ctx, files)
	if err != nil {
		return t, err
	}
	for n, o := range files {
		if bytes.HasPrefix(contents[n], []byte("version https://git-lfs.github.com/spec/")) {
			t.Omitted = append(t.Omitted, fmt.Sprintf("the content of %q, which is in Git LFS", o.path))
		}
		if err := t.Add(o.path, o.mode == "100755", contents[n], true); err != nil {
			return t, err
		}
	}
	return t, nil
}
