package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
)

// The kinds of isolation between the tasks of different tenants on a worker.
const (
	// isolationNone is nothing: the worker serves one tenant.
	isolationNone = "none"
	// isolationSandbox is a required sandbox and a directory of its own for each task.
	isolationSandbox = "sandbox"
	// isolationExecutor is the machine that the worker's --executor makes for each session.
	isolationExecutor = "executor"
)

// tenancy has the flags that choose the tenants of a worker.
type tenancy struct {
	isolation  string // "" is isolationNone
	tenant     string // without isolation, the only tenant; "" is the default tenant
	dirs       string // with isolationSandbox: a tenant's tasks work in dirs/TENANT
	singleUser bool   // dev with a sandbox: one person submits all tasks and chooses their directories
}

func (y *tenancy) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&y.isolation, "isolation", isolationNone,
		"`none`, sandbox or executor: what keeps tenants apart; with none, the worker runs tasks of one tenant only")
	flags.StringVar(&y.tenant, "tenant", "",
		"with --isolation none, run only tasks of tenant `NAME`, and give others back; default: "+fleet.DefaultTenant)
	flags.StringVar(&y.dirs, "tenant-dirs", "",
		"with --isolation sandbox, tasks without a repository must work in `DIR`/TENANT")
}

// checkTenancy checks the flags of a worker, and requires the sandbox where it isolates.
func (f *workerFlags) checkTenancy() error {
	y := &f.tenancy
	switch y.isolation {
	case isolationSandbox:
		f.confinement.use = config.SandboxRequired
	case isolationExecutor:
		if f.executor == "" {
			return errors.New("--isolation executor needs --executor: a command that makes each session a container")
		}
	case isolationNone, "":
	default:
		return fmt.Errorf("there is no isolation %q: it is none, sandbox or executor", y.isolation)
	}
	if y.tenant != "" && y.isIsolated() {
		return errors.New("--tenant names the only tenant of a worker with --isolation none")
	}
	if y.dirs == "" {
		return nil
	}
	if y.isolation != isolationSandbox {
		return errors.New("--tenant-dirs is for --isolation sandbox")
	}
	return y.checkDirs()
}

// checkDirs refuses a directory for tenants that one of them could read or change as a whole.
func (y *tenancy) checkDirs() error {
	dir, err := filepath.Abs(y.dirs)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = disk.CheckOwned(dir)
	}
	if err != nil {
		return fmt.Errorf("cannot use --tenant-dirs %q: %w", y.dirs, err)
	}
	y.dirs = dir
	for at := dir; ; at = filepath.Dir(at) { // a sandbox shows the whole repository of its directory
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return fmt.Errorf(
				"cannot use --tenant-dirs %q: it is in the git repository %q, whose files every tenant could read",
				y.dirs,
				at,
			)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// isIsolated reports whether the worker isolates tenants from each other.
func (y *tenancy) isIsolated() bool {
	return y.isolation == isolationSandbox || y.isolation == isolationExecutor
}

// admit refuses a task that this worker cannot keep apart from those of other tenants.
func (y *tenancy) admit(t fleet.Task) error {
	switch {
	case y.singleUser:
		return nil
	case !y.isIsolated():
		return y.admitTenant(t)
	case t.Executor != "":
		return errors.New(
			"the task names an executor, which this worker would start outside of its isolation; leave it out",
		)
	case y.isolation == isolationExecutor:
		return nil
	case t.Repo != "":
		return checkRemote(t.Repo)
	}
	return y.admitDir(t)
}

func (y *tenancy) admitTenant(t fleet.Task) error {
	servedTenant, tenant := y.tenant, t.Tenant
	if servedTenant == "" {
		servedTenant = fleet.DefaultTenant
	}
	if tenant == "" {
		tenant = fleet.DefaultTenant
	}
	if tenant == servedTenant {
		return nil
	}
	return &fleet.ForeignError{Err: fmt.Errorf(
		"the task is of tenant %q, and this worker runs only tasks of %q, because nothing keeps tenants apart on it; "+
			"run workers with --isolation sandbox or executor, or with --tenant %s",
		tenant, servedTenant, tenant,
	)}
}

// admitDir admits a directory in the tenant's own one. Links are resolved: a tenant could
// have made some.
func (y *tenancy) admitDir(t fleet.Task) error {
	if y.dirs == "" {
		return errors.New(
			"the task has no repository, and this worker has no directories for tenants: it needs --tenant-dirs",
		)
	}
	if t.Tenant == "." || t.Tenant == ".." || strings.ContainsAny(t.Tenant, `/\`) || t.Tenant == "" {
		return fmt.Errorf("the tenant %q is not the name of a directory", t.Tenant)
	}
	tenantDir := filepath.Join(y.dirs, t.Tenant)
	dir, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return fmt.Errorf("cannot use the directory of the task: %w", err)
	}
	if !disk.Within(tenantDir, dir) {
		return fmt.Errorf("the task of tenant %q works in %q, which is not in %q", t.Tenant, t.Dir, tenantDir)
	}
	return nil
}

// scpAddress is HOST:PATH as ssh's tools write it, and not a path with a colon or another
// transport of git (NAME::ADDRESS).
var scpAddress = regexp.MustCompile(`^([\w.-]+@)?[\w.-]+:[^:]`)

// checkRemote refuses a repository on the worker's own disk: other tenants' work is there.
func checkRemote(repo string) error {
	if u, err := url.Parse(repo); err == nil && u.Host != "" {
		switch u.Scheme {
		case "https", "http", "ssh", "git":
			return nil
		}
	} else if scpAddress.MatchString(repo) && !strings.Contains(repo, "://") {
		return nil
	}
	return fmt.Errorf(
		"the repository %q is not on a server (https, http, ssh, git), and this worker keeps tenants apart",
		repo,
	)
}
