package pgdev

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// superuser is the role that owns the server's databases.
	superuser = "settle"
	// passwordFile, in the server's directory, holds the password of the superuser, in the
	// format of ~/.pgpass, so that a URL can name the file.
	passwordFile = "password"
	// accessFile, in the server's directory, says how clients prove who they are.
	accessFile = "pg_hba.conf"
	// passwordPrefix matches every server, port and database.
	passwordPrefix = "*:*:*:" + superuser + ":"
)

// access requires the password of every client, also of those that use the socket.
const access = `# Written by settle-fleet at each start.
local all all     scram-sha-256
host  all all all scram-sha-256
`

// readPassword returns the password of the server in dir.
func readPassword(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, passwordFile))
	if err != nil {
		return "", err
	}
	password, ok := strings.CutPrefix(strings.TrimSpace(string(text)), passwordPrefix)
	if !ok || password == "" {
		return "", fmt.Errorf(
			"the file %q has no password for the role %s", filepath.Join(dir, passwordFile), superuser,
		)
	}
	return password, nil
}

// secure has the server in dir require a password of every client, and returns the password.
// A server that has none yet, such as one that an older version made, gets a random one.
func (p programs) secure(ctx context.Context, dir string, owner account) (string, error) {
	if err := writeAccess(filepath.Join(dir, accessFile)); err != nil {
		return "", fmt.Errorf("cannot write how clients prove who they are: %w", err)
	}
	password, err := readPassword(dir)
	if !errors.Is(err, os.ErrNotExist) {
		return password, err
	}
	password = rand.Text()
	if err := p.setPassword(ctx, dir, password, owner); err != nil {
		return "", err
	}
	// The file comes last: without it, the next start sets another password.
	path := filepath.Join(dir, passwordFile)
	if err := os.WriteFile(path+".new", []byte(passwordPrefix+password+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("cannot write the password: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("cannot write the password: %w", err)
	}
	return password, nil
}

// writeAccess writes the access file. It is no secret, and the server's user reads it.
func writeAccess(path string) error {
	if err := os.WriteFile(path, []byte(access), 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o644) // whatever the umask is
}

// setPassword sets the password of the superuser while no server runs: no client can
// connect before the password is required. The password is on no command line.
func (p programs) setPassword(ctx context.Context, dir, password string, owner account) error {
	data := filepath.Join(dir, dataDir)
	cmd := exec.CommandContext(
		ctx, p.path("postgres"), "--single", "-D", data, "-c", "exit_on_error=on", "-c",
		"password_encryption=scram-sha-256", "postgres",
	)
	cmd.Stdin = strings.NewReader("ALTER ROLE " + superuser + " PASSWORD '" + password + "'\n")
	cmd.Dir = data
	owner.apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot set the password of the database in %q: %w\n%s", data, err, lastLines(out))
	}
	return nil
}
