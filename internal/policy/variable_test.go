package policy_test

import (
	"testing"

	"github.com/settle-agent/settle/internal/policy"
)

func TestSecretVariable(t *testing.T) {
	for _, name := range []string{
		"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "github_token", "npm_config__authToken", "OPENAI_API_KEY", "APIKEY",
		"DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "DB_PASSWD", "SUDO_PASS", "GOOGLE_APPLICATION_CREDENTIALS", "GITHUB_PAT", "SENTRY_DSN", "GIT_CONFIG_COUNT",
		"GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_PARAMETERS", "NPM_CONFIG__AUTH",
		"GPG_PASSPHRASE", "SESSION_COOKIE", "HTTP_BEARER", "CI_JOB_JWT", "WIFI_PSK", "TOKEN", "PASS", "KEYCHAIN_KEYBOARD",
	} {
		if !policy.SecretVariable(name, "x") {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range []string{
		"PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "KEYBOARD", "XKB_KEYMAP", "MONKEY", "TOKENIZERS_PARALLELISM", "KEYTIMEOUT", "LANG", "GIT_AUTHOR_NAME", "PATHEXT",
		"COMPASS", "BYPASS", "XAUTHORITY", "GOFLAGS", "CI", "GITHUB_REPOSITORY", "PATTERN", "DESKTOP_SESSION",
	} {
		if policy.SecretVariable(name, "x") {
			t.Errorf("%s is a secret", name)
		}
	}
	for value, want := range map[string]bool{
		"postgres://app:hunter2@db/app": true, "https://ghp_0123456789abcdef0123@github.com/x": true, "-----BEGIN OPENSSH PRIVATE KEY-----\nx": true,
		"Authorization: Bearer x": true, "AUTHORIZATION: basic eDp5": true, "ghp_0123456789abcdefghij0123456789abcdef": true,
		"AccountName=a;AccountKey=x==;": true, "https://hooks.slack.com/services/T0/B0/x": true, "host=h password=x": true,
		`{"private_key": "x"}`: true, "sk_live_0123456789abcdef": true, "AKIAIOSFODNN7EXAMPLE": true,
		"npm_config_cache": false, "authorization": false, "pypi-mirror": false,
		"amqp://u:p%zz@h": true, "see https://a:b@c, please": true,
		"https://git@github.com/x": false, "http://proxy:3128": false, "postgres://localhost/app": false, "a@b": false, "git@github.com:x/y": false,
	} {
		if got := policy.SecretVariable("X", value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	keep := policy.Withhold([]string{"GITHUB_TOKEN", "NPM_*"})
	for name, want := range map[string]bool{"GITHUB_TOKEN": false, "NPM_TOKEN": false, "AWS_SECRET_ACCESS_KEY": true, "HOME": false} {
		if keep(name, "x") != want {
			t.Errorf("%s: want withheld %v", name, want)
		}
	}
}
