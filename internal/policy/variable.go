package policy

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// SecretVariable reports whether an environment variable looks like a credential: by its
// name, or by a value that is a private key or a URL with a password.
//
//	by the name   KEY, SECRET, TOKEN, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, COOKIE, BEARER,
//	              AUTHORIZATION anywhere in it, also in small letters;
//	              PASS, PAT, PWD, PSK, JWT, DSN, AUTH as its last word (DB_PASS, GITHUB_PAT)
//	not by it     words that only contain one of these: KEYBOARD, KEYMAP, MONKEY, TOKENIZERS, …
//	              PWD and OLDPWD, which are folders
//	together      GIT_CONFIG_COUNT, GIT_CONFIG_KEY_n, GIT_CONFIG_VALUE_n, GIT_CONFIG_PARAMETERS: git
//	              fails if it receives some of them only
//	by the value  scheme://user:password@host, scheme://token@host, -----BEGIN … PRIVATE KEY-----,
//	              Authorization:, and tokens of well-known services (ghp_…, glpat-…, xoxb-…, AKIA…)
func SecretVariable(name, value string) bool {
	upper := strings.ToUpper(name)
	if secretName().MatchString(harmlessWords().ReplaceAllString(upper, "")) ||
		strings.Contains(value, "PRIVATE KEY-----") || secretValue().MatchString(value) {
		return true
	}
	return strings.Contains(value, "://") && hasPassword(value)
}

var (
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`^GIT_CONFIG_(?:COUNT$|VALUE_|PARAMETERS$)|KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|BEARER|AUTHORIZATION|(?:^|[^A-Z])(?:PASS|PAT|PSK|JWT|DSN|AUTH)$|[^A-Z]PWD$`,
		)
	})
	secretValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?i)\bauthorization: *\S|\baccountkey=|"private_key"|//hooks\.slack\.com/services/|\bpassword=\S` +
				`|\b(?:gh[opusr]_|github_pat_|glpat-|sk_live_|rk_live_|sk-ant-|sk-proj-|xox[abeprs]-|npm_|pypi-)[a-z0-9_-]{16,}` +
				`|\bAKIA[0-9A-Z]{16}\b`,
		)
	})
	harmlessWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`KEYBOARD|KEYMAP|KEYCODE|KEYTIMEOUT|KEYWORD|KEYSTROKE|MONKEY|DONKEY|TURKEY|HOCKEY|JOCKEY|TOKENIZERS?`,
		)
	})
	userOfURL = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*@[^\s]*`) },
	)
)

// minTokenUser is the minimum length of a URL's user without a password that counts as a
// token.
const minTokenUser = 20

// hasPassword reports whether a URL in the text has a password, or a token as its user.
func hasPassword(text string) bool {
	for _, found := range userOfURL().FindAllString(text, -1) {
		u, err := url.Parse(found)
		if err != nil { // a form that programs write, with characters that should be escaped
			return true
		}
		if password, ok := u.User.Password(); ok && password != "" || len(u.User.Username()) >= minTokenUser {
			return true
		}
	}
	return false
}

// Withhold returns the rule for the variables of commands that run without an approval: it
// reports whether a variable is withheld. The patterns name variables that commands
// receive; "*" matches any characters.
func Withhold(keep []string) func(name, value string) bool {
	return func(name, value string) bool {
		for _, pattern := range keep {
			if doublestar.MatchUnvalidated(pattern, name) {
				return false
			}
		}
		return SecretVariable(name, value)
	}
}
