package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/guard"
)

// listenFlags are the flags of commands that listen for HTTP.
type listenFlags struct {
	addr      string // its own flag has another name everywhere
	tokenFile string
	cert, key string
	insecure  bool
	names     []string
}

func (f *listenFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tokenFile, "token-file", "", "read the token from `FILE`; it is then not printed")
	flags.StringVar(&f.cert, "tls-cert", "", "TLS certificate `FILE`")
	flags.StringVar(&f.key, "tls-key", "", "TLS key `FILE`")
	flags.BoolVar(&f.insecure, "insecure", false, "listen without TLS on an address that other machines can reach")
	flags.StringArrayVar(&f.names, "allow-host", nil, "accept the host `NAME` from clients; repeatable")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
}

// token returns the token of the file, or a new one.
func (f *listenFlags) token() (string, error) {
	if f.tokenFile == "" {
		return guard.NewToken(), nil
	}
	if info, err := os.Stat(f.tokenFile); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("refusing the token in %q, which other users can read; put a new token in it and run \"chmod 600 %s\"", f.tokenFile, f.tokenFile)
	}
	return guard.ReadToken(f.tokenFile)
}

func (f *listenFlags) tls() (*tls.Config, error) {
	if f.cert == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
