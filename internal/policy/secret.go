package policy

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// Secret reports whether a file's path indicates secrets: keys, tokens, passwords.
func Secret(name string) bool {
	name = strings.ToLower(path.Clean(slashed(name)))
	return secretPath().MatchString(name) && !publicPath().MatchString(name)
}

var secretPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|/)(?:` + strings.Join([]string{
		`\.(?:ssh|gnupg|aws|azure|kube|password-store)(?:/.*)?`, `(?:(?:\.config|roaming)/gcloud|share/keyrings)/.*`,
		`(?:\.docker|\.cargo|\.codex|gh)/(?:config\.json|credentials\.toml|auth\.json|hosts\.yml)`,
		`\.env(?:[^a-z/][^/]*)?`, `\.(?:envrc|netrc|npmrc|pypirc|git-credentials|pgpass|my\.cnf|htpasswd|dockercfg|vault-token|terraformrc)`, `_netrc`,
		`kubeconfig(?:\.[^/]*)?`, `credentials(?:\.json)?`, `application_default_credentials\.json`, `secrets\.(?:yml|yaml|json|toml)`, `g?shadow`,
		`id_(?:rsa|dsa|ecdsa|ed25519)[^/]*`, `[^/]*\.(?:env|pem|key|p12|pfx|jks|keystore|kdbx|ppk|kubeconfig)`,
	}, "|") + `)$`)
})

var publicPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.pub$|(?:^|/)\.env.(?:example|sample|template|dist|defaults|schema)$`)
})

// secret reports whether one of the place's names indicates secrets.
func (p place) secret() bool { return Secret(p.rel) || Secret(p.named) || Secret(p.real) }

// guarded reports whether a change of the file affects programs that run later without a
// request, or whether the file is secret.
func (p place) guarded() bool {
	rel := "/" + strings.ToLower(p.rel) + "/"
	return strings.Contains(rel, "/.git/") || strings.Contains(rel, "/.settle/") || p.secret()
}

func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }
