package policy

import (
	"path"
	"slices"
	"strings"
)

// Secret reports whether a file is by its path one with secrets: keys, tokens,
// passwords.
func Secret(path string) bool { return secret(slashed(path)) }

// secret reports whether a path, with slashes, is by its name that of a file
// with secrets: keys, tokens, passwords.
func secret(name string) bool {
	segments := strings.Split(strings.ToLower(path.Clean(name)), "/")
	for i, dir := range segments[:len(segments)-1] {
		switch dir {
		case ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", "gcloud", "keyrings":
			if !strings.HasSuffix(name, ".pub") {
				return true
			}
		case ".docker", ".cargo", ".codex", "gh":
			if slices.Contains([]string{"config.json", "credentials.toml", "auth.json", "hosts.yml"}, segments[i+1]) {
				return true
			}
		}
	}
	return secretBase(segments[len(segments)-1])
}

func secretBase(base string) bool {
	if slices.Contains([]string{
		".env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd",
		".dockercfg", ".vault-token", ".terraformrc", "kubeconfig", "credentials", "credentials.json", "application_default_credentials.json",
		"secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "shadow", "gshadow",
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store",
	}, base) {
		return true
	}
	if rest, ok := strings.CutPrefix(base, ".env"); ok && strings.Trim(rest[:min(1, len(rest))], "abcdefghijklmnopqrstuvwxyz") != "" {
		return !slices.Contains([]string{"example", "sample", "template", "dist", "defaults", "schema"}, rest[1:])
	}
	for _, prefix := range []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "kubeconfig."} {
		if strings.HasPrefix(base, prefix) {
			return !strings.HasSuffix(base, ".pub")
		}
	}
	switch path.Ext(base) {
	case ".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".kubeconfig":
		return true
	}
	return false
}

// secret reports whether the place is that of a file with secrets, by either
// of its names.
func (p place) secret() bool {
	return secret(p.rel) || secret(slashed(p.named)) || secret(slashed(p.real))
}

// guarded reports whether a file, when it is changed, changes what runs later
// without being asked for, or is secret.
func (p place) guarded() bool {
	for _, name := range strings.Split(strings.ToLower(p.rel), "/") {
		if name == ".git" || name == ".settle" {
			return true
		}
	}
	return p.secret()
}

func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }
