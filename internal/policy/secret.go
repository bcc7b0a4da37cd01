package policy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
)

// Secret reports whether a file's path indicates secrets: keys, tokens, passwords.
func Secret(name string) bool {
	name = strings.ToLower(path.Clean(slashed(name)))
	if looksSecret(name) {
		return true
	}
	of := copySuffix().ReplaceAllString(name, "")
	if of == name {
		return false
	}
	dir, base := path.Split(of)
	return looksSecret(of) || looksSecret(dir+strings.TrimPrefix(base, ".")) // a swap file has one more dot
}

func looksSecret(name string) bool {
	return secretPath().MatchString(name) && !publicPath().MatchString(name)
}

// copySuffix matches suffixes that editors, backups and settle itself append to the name of a copy.
var copySuffix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?:~|\.(?:sw[a-p]|bak|backup|old|orig|save|tmp|lock|gpg|asc|(?:[0-9]+\.)?settle-changed|[0-9]{2,})|-quarantined-[0-9]+)+$`,
	)
})

var secretPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|/)(?:` + strings.Join([]string{
		`\.(?:ssh|gnupg|aws|azure|kube|password-store|oci)(?:/.*)?`,
		`(?:(?:\.config|roaming)/(?:gcloud|op)|share/keyrings)/.*`,
		`(?:\.docker|\.cargo|\.codex|gh)/(?:config\.json|credentials\.toml|auth\.json|hosts\.yml)`,
		`(?:\.aliyun|composer|netlify)/(?:config|auth)\.json`,
		`(?:doctl/config|hcloud/cli|glab-cli/config|scw/config|\.fly/config)\.(?:ya?ml|toml)|huggingface/token`,
		`\.env(?:[^a-z/][^/]*)?`,
		`\.(?:envrc|netrc|npmrc|pypirc|git-credentials|pgpass|my\.cnf|htpasswd|dockercfg|vault-token|terraformrc)`,
		`_netrc`,
		`kubeconfig(?:\.[^/]*)?`,
		`credentials(?:\.(?:json|csv|xml|ini|ya?ml|toml|properties|tfrc\.json))?`,
		`(?:[^/]*_)?accesskeys\.csv`,
		`application_default_credentials\.json`,
		`(?:azureauth|azureprofile|docker-?config)\.json|\.dockerconfigjson|[^/]*\.publishsettings`,
		`secrets?\.(?:ya?ml|json|toml|ini|properties|env\.ya?ml)|vault\.ya?ml`,
		`(?:service[-_]?account|gha-creds|client_secrets?|[^/]*firebase-adminsdk)[^/]*\.json`,
		`(?:[^/]*\.)?env\.(?:local|dev|development|prod|production|staging)`,
		`rclone\.conf|terraform\.rc|cookies\.sqlite|\.(?:bash|zsh|psql|mysql|sqlite|python)_history`,
		`terraform\.tfstate(?:\.backup)?`,
		`\.(?:dev\.vars|s3cfg|boto|vault[-_]pass(?:word)?(?:\.txt)?)`,
		`wp-config\.php`,
		`g?shadow`,
		`id_(?:rsa|dsa|ecdsa|ed25519)[^/]*`,
		`[^/]*\.(?:env|pem|key|p12|pfx|jks|keystore|kdbx|ppk|kubeconfig|tfvars|tfvars\.json)(?:\.(?:bak|old|orig))?`,
	}, "|") + `)$`)
})

var publicPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.pub$|(?:^|/)\.env.(?:example|sample|template|dist|defaults|schema)$`)
})

// secret reports whether one of the place's names indicates secrets, or whether the file
// was hidden from a command.
func (p place) secret() bool {
	return Secret(p.rel) || Secret(p.named) || Secret(p.real) || p.hidden != nil && p.hidden(p.real)
}

// guarded reports whether a change of the file affects programs that run later without a
// request, or whether the file is secret.
func (p place) guarded() bool { return p.obeyed() || p.secret() || p.ofRepository() }

// ProtectedNames returns the names of files and folders in a project that programs of the
// user run or obey: shells, editors, managers of git hooks, and agents. The repository is
// not among them.
func ProtectedNames() []string {
	return append(
		ShellStartFiles(), ".settle", ".claude", ".codex", ".agents", ".opencode", ".cursor", ".gemini", ".mcp.json",
		".envrc", ".vscode", ".idea", ".devcontainer", ".husky",
	)
}

// ShellStartFiles returns the names of the files that shells run when they start.
func ShellStartFiles() []string {
	return []string{".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile"}
}

// obeyed reports whether programs of the user run or obey the file: it has a protected
// name, is in such a folder or in a repository, or a configuration or a link leads to it.
func (p place) obeyed() bool {
	names := append(ProtectedNames(), ".git")
	for _, name := range strings.Split(strings.ToLower(p.rel), "/") {
		if slices.Contains(names, name) {
			return true
		}
	}
	return p.protected != nil && p.inside && disk.WithinAny(p.protected(), p.real)
}

// repositoryNames are the names in the folder of a repository by which git may run a
// program, or by which it recognizes the folder, in lower case.
const repositoryNames = " head commondir objects refs config config.worktree hooks rebase-merge rebase-apply sequencer remotes branches "

// ofRepository reports whether the file would be a part of a repository under any folder
// name: git obeys the configuration and the hooks of such a folder. Each repository has a
// HEAD, or a commondir that leads to a folder with one.
func (p place) ofRepository() bool {
	if name := strings.ToLower(path.Base(p.rel)); name == "head" || name == "commondir" {
		return true
	}
	if !p.inside {
		return false // the call needs an approval in any case
	}
	at := p.real
	for range strings.Count(p.rel, "/") + 1 {
		if strings.Contains(repositoryNames, " "+strings.ToLower(filepath.Base(at))+" ") &&
			mayBeRepository(filepath.Dir(at), append(slices.Clip(p.also), p.real)) {
			return true
		}
		at = filepath.Dir(at)
	}
	return false
}

// mayBeRepository reports whether git may take configuration from a folder after a call has
// written some paths.
func mayBeRepository(dir string, written []string) bool {
	exists := func(name string) bool {
		at := filepath.Join(dir, name)
		_, err := os.Lstat(at)
		return err == nil || slices.ContainsFunc(written, func(path string) bool { return disk.Within(at, path) })
	}
	worktrees, _ := filepath.Glob(filepath.Join(config.Literal(dir), "worktrees", "*", "commondir"))
	return exists("HEAD") || exists("commondir") || exists("objects") && exists("refs") || len(worktrees) > 0
}

func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }
