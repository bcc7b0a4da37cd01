package temporaldev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// ownName is settle's build of the server, and officialName Temporal's own program.
	ownName, officialName = "settle-fleet-temporal", "temporal"
	// ProgramVar names the program, if another one must be used.
	ProgramVar = "SETTLE_FLEET_TEMPORAL"
	// minMajor and minMinor are the oldest server with which the engine is tested.
	minMajor, minMinor = 1, 32
	// versionTimeout bounds the question for a program's version.
	versionTimeout = 10 * time.Second
	// loopback is the only address that the servers listen on.
	loopback = "127.0.0.1"
)

// Program is a program that is a development server.
type Program struct {
	path       string
	isOfficial bool // temporal, and not settle's build
}

// Path is the program's file.
func (p Program) Path() string { return p.path }

// Find returns the program with the path; with "", an installed temporal whose server is new
// enough, else settle-fleet-temporal, beside this program or in the PATH. The error says how
// to get one.
func Find(ctx context.Context, path string) (Program, error) {
	if path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return Program{}, fmt.Errorf("cannot use Temporal's server that $%s names: %w", ProgramVar, err)
		}
		return Program{path: found, isOfficial: programName(found) == officialName}, nil
	}
	versionErr := error(nil)
	if path, err := exec.LookPath(officialName); err == nil {
		if versionErr = checkVersion(ctx, path); versionErr == nil {
			return Program{path: path, isOfficial: true}, nil
		}
	}
	if executable, err := os.Executable(); err == nil {
		if program, err := exec.LookPath(filepath.Join(filepath.Dir(executable), ownName)); err == nil {
			return Program{path: program}, nil
		}
	}
	if path, err := exec.LookPath(ownName); err == nil {
		return Program{path: path}, nil
	}
	return Program{}, &MissingError{versionErr}
}

// MissingError reports that this machine has no program that can be used.
type MissingError struct {
	versionErr error // why an installed temporal cannot be used; nil if there is none
}

func (e *MissingError) Error() string {
	return fmt.Sprintf(
		"there is no Temporal server on this machine: %v; "+
			"install the program temporal (https://docs.temporal.io/cli), or put %s beside settle-fleet or into the PATH "+
			"(it is in settle-fleet's archive of a release; from source: "+
			"go -C fleet/cmd/%s install .), or name the address of a running server with --temporal",
		cmp.Or(e.versionErr, errNoProgram),
		ownName,
		ownName,
	)
}

func (e *MissingError) Unwrap() error { return e.versionErr }

var errNoProgram = errors.New("neither the program " + officialName + " nor the program " + ownName + " was found")

func programName(path string) string {
	name := filepath.Base(path)
	if runtime.GOOS == "windows" {
		name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	}
	return name
}

var serverVersion = regexp.MustCompile(`Server (\d+)\.(\d+)`)

// checkVersion refuses a temporal whose server is older than the tested one.
func checkVersion(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return fmt.Errorf("%q does not print its version: %w", path, err)
	}
	found := serverVersion.FindStringSubmatch(string(out))
	if found == nil {
		return fmt.Errorf("%q does not print the version of its server: %q", path, strings.TrimSpace(string(out)))
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	if major < minMajor || major == minMajor && minor < minMinor {
		return fmt.Errorf(
			"%q has a server %d.%d, and settle needs %d.%d or newer",
			path,
			major,
			minor,
			minMajor,
			minMinor,
		)
	}
	return nil
}

// args returns the program's command line. Fairness is off by default in Temporal's server;
// settle's build has it on.
func (p Program) args(o Options) []string {
	if !p.isOfficial {
		args := []string{"--namespace", cmp.Or(o.Namespace, "default"), "--port", strconv.Itoa(o.Port)}
		if o.File != "" {
			args = append(args, "--db", o.File)
		}
		if o.UI {
			args = append(args, "--ui-port", strconv.Itoa(o.UIPort))
		}
		return args
	}
	args := []string{
		"server", "start-dev", "--ip", loopback, "--port", strconv.Itoa(o.Port), "--log-level", "warn",
		"--namespace", cmp.Or(o.Namespace, "default"), "--dynamic-config-value", "matching.enableFairness=true",
	}
	if o.File != "" {
		args = append(args, "--db-filename", o.File)
	}
	if o.UI {
		return append(args, "--ui-port", strconv.Itoa(o.UIPort))
	}
	return append(args, "--headless")
}

// complete chooses the ports that the options leave open: temporal does not report them.
func (o *Options) complete() error {
	var ports []int
	for range 2 { // both listen at the same time, so that they differ
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return fmt.Errorf("cannot find a free port: %w", err)
		}
		defer func() { _ = l.Close() }() //nolint:gocritic // there are two
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	o.Port, o.UIPort = cmp.Or(o.Port, ports[0]), cmp.Or(o.UIPort, ports[1])
	return nil
}
