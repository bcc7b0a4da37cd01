package guard

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/disk"
)

// Flags are the flags of commands that listen for HTTP. Each command declares the flag for
// the address itself, because its name differs.
type Flags struct {
	TokenFile string
	Cert, Key string
	Insecure  bool
	Names     []string
}

// maxPEM bounds the files of a certificate and of its key, in bytes.
const maxPEM = 1 << 20

// Define adds the flags to a command. --tls-cert and --tls-key must be given together.
func (f *Flags) Define(flags *pflag.FlagSet) {
	flags.StringVar(&f.TokenFile, "token-file", "", "read the token from `FILE`; it is then not printed")
	flags.StringVar(&f.Cert, "tls-cert", "", "TLS certificate `FILE`")
	flags.StringVar(&f.Key, "tls-key", "", "TLS key `FILE`")
	flags.BoolVar(&f.Insecure, "insecure", false, "listen without TLS on an address that other machines can reach")
	flags.StringArrayVar(&f.Names, "allow-host", nil, "accept the host `NAME` from clients; repeatable")
}

// Token returns the token of the file, or a new one.
func (f *Flags) Token() (string, error) {
	if f.TokenFile == "" {
		return NewToken(), nil
	}
	if info, err := os.Stat(f.TokenFile); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf(
			"refusing the token in %q, which other users can read; put a new token in it and run \"chmod 600 %s\"",
			f.TokenFile, f.TokenFile,
		)
	}
	return ReadToken(f.TokenFile)
}

// TLS returns the TLS configuration of the flags; nil without one.
func (f *Flags) TLS() (*tls.Config, error) {
	if f.Cert == "" {
		return nil, nil // there is none
	}
	cert, certErr := disk.ReadRegular(f.Cert, maxPEM)
	key, keyErr := disk.ReadRegular(f.Key, maxPEM)
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("cannot read the certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Link is the link of the page that a command prints. A token of the user's is not
// shown, and the first of the user's names is taken.
func (f *Flags) Link(p *Place, token string) string {
	name := ""
	if len(f.Names) > 0 {
		name = f.Names[0]
	}
	if f.TokenFile != "" {
		token = ""
	}
	return p.Link(name, token)
}
