package policy

import (
	"slices"
	"strings"
	"sync"
)

// gitOptions are the options of git's subcommands that name no program, no configuration, no file and
// no place. Each line has the subcommands, with the verb of those that have verbs, and their options:
// "=" marks an option with a value, which is the rest of the word or the next word, and "?" an option
// whose value is only in the same word. A test compares the lines with "git SUBCOMMAND -h".
const gitOptions = `
add: -n --dry-run -v --verbose -f --force -u --update --renormalize -N --intent-to-add -A --all --no-all --ignore-removal --refresh --ignore-errors --ignore-missing --sparse --chmod=
commit: -q --quiet -v --verbose --author= --date= -m= --message= -c= --reedit-message= -C= --reuse-message= --fixup= --squash= --reset-author --trailer= -s --signoff -e --edit --no-edit --cleanup= --status --no-status -S? --gpg-sign? --no-gpg-sign -a --all -i --include -o --only -n --no-verify --dry-run --short --branch --porcelain --long -z --null --amend --no-post-rewrite -u? --untracked-files? --allow-empty --allow-empty-message
push: -v --verbose -q --quiet --all --mirror -d --delete --tags -n --dry-run --porcelain -f --force --force-with-lease? --force-if-includes --thin -u --set-upstream --progress --no-progress --prune --no-verify --follow-tags --no-follow-tags --signed? --atomic -o= --push-option= -4 --ipv4 -6 --ipv6
fetch: -v --verbose -q --quiet --all --set-upstream -a --append --atomic -f --force -m --multiple -t --tags --no-tags -n -j= --jobs= --prefetch -p --prune --no-prune -P --prune-tags --dry-run --write-fetch-head -k --keep -u --update-head-ok --progress --no-progress --depth= --shallow-since= --shallow-exclude= --deepen= --unshallow --refetch --update-shallow --refmap= -o= --server-option= -4 --ipv4 -6 --ipv6 --negotiation-tip= --negotiate-only --filter= --auto-maintenance --auto-gc --show-forced-updates --write-commit-graph
pull: -v --verbose -q --quiet --progress --no-progress -r? --rebase? --no-rebase -n --stat --no-stat --log? --signoff? --squash --no-squash --commit --no-commit --edit --no-edit --cleanup= --ff --no-ff --ff-only --verify --no-verify --verify-signatures --autostash --no-autostash -X= --strategy-option= -S? --gpg-sign? --no-gpg-sign --allow-unrelated-histories --all -a --append -f --force -t --tags --no-tags -p --prune -j? --jobs? --dry-run -k --keep --depth= --shallow-since= --shallow-exclude= --deepen= --unshallow --update-shallow --refmap= -o= --server-option= -4 --ipv4 -6 --ipv6 --negotiation-tip= --show-forced-updates --set-upstream
rebase: --onto= --keep-base --no-verify --verify -q --quiet -v --verbose -n --no-stat --stat --signoff --committer-date-is-author-date --reset-author-date -C= --ignore-whitespace --whitespace= -f --force-rebase --no-ff --continue --skip --abort --quit --edit-todo --show-current-patch --apply -m --merge -i --interactive --rerere-autoupdate --empty= --autosquash --no-autosquash --update-refs --no-update-refs -S? --gpg-sign? --no-gpg-sign --autostash --no-autostash -r? --rebase-merges? --no-rebase-merges --fork-point --no-fork-point -X= --strategy-option= --root --reapply-cherry-picks --no-reapply-cherry-picks
merge: -n --stat --no-stat --summary --log? --squash --no-squash --commit --no-commit -e --edit --no-edit --cleanup= --ff --no-ff --ff-only --rerere-autoupdate --verify-signatures -X= --strategy-option= -m= --message= --into-name= -v --verbose -q --quiet --abort --quit --continue --allow-unrelated-histories --progress --no-progress -S? --gpg-sign? --no-gpg-sign --autostash --no-autostash --overwrite-ignore --signoff --no-verify
cherry-pick: --quit --continue --abort --skip --cleanup= -n --no-commit -e --edit -s --signoff -m= --mainline= --rerere-autoupdate -X= --strategy-option= -S? --gpg-sign? --no-gpg-sign -x --ff --allow-empty --allow-empty-message --keep-redundant-commits
revert: --quit --continue --abort --skip --cleanup= -n --no-commit -e --edit --no-edit -s --signoff -m= --mainline= --rerere-autoupdate -X= --strategy-option= -S? --gpg-sign? --no-gpg-sign --reference
checkout: -b= -B= -l --guess --no-guess --overlay --no-overlay -q --quiet --progress --no-progress -m --merge --conflict= -d --detach -t? --track? --no-track -f --force --orphan= --overwrite-ignore --ignore-other-worktrees -2 --ours -3 --theirs --ignore-skip-worktree-bits
switch: -c= --create= -C= --force-create= --guess --no-guess --discard-changes -q --quiet --progress --no-progress -m --merge --conflict= -d --detach -t? --track? --no-track -f --force --orphan= --overwrite-ignore --ignore-other-worktrees
restore: -s= --source= -S --staged -W --worktree --ignore-unmerged --overlay --no-overlay -q --quiet --progress --no-progress -m --merge --conflict= -2 --ours -3 --theirs --ignore-skip-worktree-bits
stash, stash push: -k --keep-index --no-keep-index -S --staged -q --quiet -u --include-untracked -a --all -m= --message=
stash save: -k --keep-index --no-keep-index -S --staged -q --quiet -u --include-untracked -a --all -m= --message=
stash pop, stash apply: -q --quiet --index
stash drop: -q --quiet
stash clear, stash branch, stash create:
stash store: -q --quiet -m= --message=
tag: -l --list -n? -d --delete -v --verify -a --annotate -m= --message= -e --edit -s --sign --no-sign --cleanup= -u= --local-user= -f --force --create-reflog --column? --contains= --no-contains= --merged= --no-merged= --sort= --points-at= --color? -i --ignore-case
branch: -v --verbose -q --quiet -t? --track? --no-track -u= --set-upstream-to= --unset-upstream --color? --no-color -r --remotes --contains= --no-contains= --abbrev? -a --all -d --delete -D -m --move -M -c --copy -C -l --list --show-current --create-reflog --edit-description -f --force --merged= --no-merged= --column? --sort= --points-at= -i --ignore-case
reset: -q --quiet --no-refresh --mixed --soft --hard --merge --keep -N --intent-to-add
rm: -n --dry-run -q --quiet --cached -f --force -r --ignore-unmatch --sparse
mv: -v --verbose -n --dry-run -f --force -k --sparse
clean: -q --quiet -n --dry-run -f --force -d -e= --exclude= -x -X
clone: -v --verbose -q --quiet --progress --no-progress --reject-shallow -n --no-checkout --bare --mirror -j= --jobs= -o= --origin= -b= --branch= --depth= --shallow-since= --shallow-exclude= --single-branch --no-single-branch --no-tags --server-option= -4 --ipv4 -6 --ipv6 --filter= --sparse
init: --bare -q --quiet -b= --initial-branch= --object-format=
ls-remote: -q --quiet -t --tags --refs --get-url --sort= --exit-code --symref -o= --server-option=
worktree add: -f --force -b= -B= -d --detach --checkout --no-checkout --lock --reason= -q --quiet --track --no-track --guess-remote --no-guess-remote
worktree remove, worktree move: -f --force
worktree lock: --reason=
worktree unlock:
worktree list: -v --verbose --porcelain -z
worktree prune: -n --dry-run -v --verbose --expire=
remote: -v --verbose
remote add: -f --fetch --tags --no-tags -t= --track= -m= --master= --mirror?
remote rename: --progress --no-progress
remote remove, remote rm:
remote set-url: --push --add --delete
remote get-url: --push --all
remote prune: -n --dry-run
remote update: -p --prune
remote set-head: -a --auto -d --delete
remote set-branches: --add
notes add, notes append: -m= --message= -c= --reedit-message= -C= --reuse-message= --allow-empty
notes remove: --ignore-missing
notes copy: -f --force
notes prune: -n --dry-run -v --verbose
bisect start, bisect good, bisect bad, bisect new, bisect old, bisect skip, bisect reset:
reflog expire: --dry-run --rewrite --updateref --verbose --expire= --expire-unreachable= --stale-fix --all
reflog delete: --dry-run --rewrite --updateref --verbose
gc: -q --quiet --prune? --aggressive --auto --force --keep-largest-pack
prune: -n --dry-run -v --verbose --progress --expire=
repack: -a -A -d -f -F -n -q --quiet -l --local -i --delta-islands --window= --window-memory= --depth= --threads= --max-pack-size= -k --keep-unreachable
pack-refs: --all --prune --no-prune
update-ref: -m= -d --no-deref --create-reflog
symbolic-ref: -q --quiet -d --delete --short --recurse -m=
write-tree: --missing-ok
read-tree: -m --trivial --aggressive --reset -u -i -n --dry-run -v --verbose -q --quiet
update-index: -q --ignore-submodules --add --replace --remove --unmerged --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree --no-skip-worktree --force-remove --verbose --again -g
commit-tree: -p= -m= -S? --gpg-sign?
rev-parse:
show-ref: --tags --verify --head -d --dereference -s? --hash? --abbrev? -q --quiet
for-each-ref: --count= --color? --sort= --points-at= --merged= --no-merged= --contains= --no-contains= --ignore-case
name-rev: --name-only --tags --refs= --exclude= --all --undefined --always
check-ignore: -q --quiet -v --verbose -z -n --non-matching --no-index
verify-commit, verify-tag: -v --verbose --raw
version: --build-options
archive: --format= --prefix= --worktree-attributes -v --verbose -l --list
format-patch: -n --numbered -N --no-numbered -s --signoff --stdout --cover-letter --rfc -k --keep-subject --subject-prefix= -q --quiet
am: -3 --3way -q --quiet -s --signoff -k --keep --continue -r --resolved --skip --abort --quit -S? --gpg-sign?
apply: --stat --numstat --summary --check --index --cached -3 --3way -R --reverse --reject -v --verbose -q --quiet -p= -C= --whitespace= --recount
log, show, diff, status, shortlog, rev-list, merge-base, describe, cat-file, ls-tree, ls-files, blame, annotate, grep, whatchanged:
diff-tree, diff-index, diff-files, range-diff, show-branch, merge-tree, fsck, count-objects, cherry, var, check-attr, hash-object:
`

// gitGlobals are the options before the subcommand, beside -C.
const gitGlobals = " --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects "

// Kinds of options.
const (
	takesNothing = 0
	takesValue   = '='
	mayTakeValue = '?'
)

// gitOptionTable has the options of subcommands, with their kinds.
var gitOptionTable = sync.OnceValue(func() map[string]map[string]byte {
	table := map[string]map[string]byte{}
	for line := range strings.Lines(strings.TrimSpace(gitOptions)) {
		names, options, _ := strings.Cut(strings.TrimSpace(line), ":")
		kinds := map[string]byte{}
		for option := range strings.FieldsSeq(options) {
			kind := option[len(option)-1]
			if kind != takesValue && kind != mayTakeValue {
				kinds[option] = takesNothing
				continue
			}
			kinds[option[:len(option)-1]] = kind
		}
		for name := range strings.SplitSeq(names, ", ") {
			table[name] = kinds
		}
	}
	return table
})

// gitArguments are the arguments of a subcommand, as git's parse-options reads them.
type gitArguments struct {
	// options are the known options, without values, and operands the other words.
	options, operands []string
	verb              string // the first operand, if it selects the options
	// unknown are words that are no known option.
	unknown []string
}

// parseGit reads the arguments of a subcommand with some options. The word after an unknown option
// can be its value: it counts as unknown as well if it looks like an option.
func parseGit(kinds map[string]byte, words []string) (a gitArguments) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			a.operands = append(a.operands, words[i+1:]...)
			return a
		}
		if len(word) < 2 || word[0] != '-' {
			a.operands = append(a.operands, word)
			continue
		}
		known, next := a.option(kinds, word)
		switch {
		case !known:
			if a.unknown = append(a.unknown, word); i+1 < len(words) && strings.HasPrefix(words[i+1], "-") {
				i++
				a.unknown = append(a.unknown, words[i])
			}
		case next && (i+1 == len(words) || words[i+1] == "--"):
			a.unknown = append(a.unknown, word)
		case next:
			i++
		}
	}
	return a
}

// option reads a word with options, and reports whether all of them are known, and whether the next
// word is a value.
func (a *gitArguments) option(kinds map[string]byte, word string) (known, next bool) {
	if strings.HasPrefix(word, "--") {
		name, _, valued := strings.Cut(word, "=")
		kind, known := kinds[name]
		a.options = append(a.options, name)
		return known && !(valued && kind == takesNothing), kind == takesValue && !valued
	}
	for i := 1; i < len(word); i++ {
		name := "-" + word[i:i+1]
		kind, known := kinds[name]
		if !known {
			return false, false
		}
		a.options = append(a.options, name)
		if kind != takesNothing { // the rest of the word is the value
			return true, kind == takesValue && i+1 == len(word)
		}
	}
	return true, false
}

// arguments returns the arguments of a git command; ok is false if the subcommand is unknown.
func (g gitCall) arguments() (a gitArguments, ok bool) {
	table, words, verb := gitOptionTable(), g.args, ""
	kinds, ok := table[g.name]
	if len(words) > 0 {
		if own, is := table[g.name+" "+words[0]]; is {
			kinds, ok, verb, words = own, true, words[0], words[1:]
		}
	}
	if !ok {
		return a, false
	}
	a = parseGit(kinds, words)
	a.verb = verb
	return a, true
}

// has reports whether one of the options is present.
func (a gitArguments) has(options ...string) bool {
	return slices.ContainsFunc(a.options, func(option string) bool { return slices.Contains(options, option) })
}
