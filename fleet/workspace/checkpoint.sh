# Says which commits the workspace is at, and puts out a bundle of what follows the
# base. Nothing in the workspace changes, and nothing that its own configuration
# names is run: objects, index and configuration are in a folder of our own.
cd "$W_DIR" 2>/dev/null || fail "the directory $W_DIR is gone"
[ "$(owner 1)" = "$W_SESSION" ] && [ "$(owner 2)" = "$W_INSTANCE" ] || fail "the repository in $PWD is gone, or is another one"
limit "$W_KIB"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/settle-checkpoint.XXXXXX") || fail "cannot make a temporary directory"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
own=$tmp/git
out=$(plain_git init --quiet --bare --template= "$own" 2>&1) || fail "cannot make a repository: $(git_message "$out")"
mkdir -p "$own/info" "$own/objects/info"
(cd .git/objects && pwd -P) > "$own/objects/info/alternates"
[ ! -f .git/shallow ] || cp .git/shallow "$own/shallow"
[ ! -f .git/info/exclude ] || cp .git/info/exclude "$own/info/exclude"
printf '* -text -filter -ident -working-tree-encoding\n' > "$own/info/attributes"

head=$(GIT_DIR=.git plain_git rev-parse --verify --quiet 'HEAD^{commit}') || head=$W_BASE
branch=$(GIT_DIR=.git plain_git symbolic-ref --quiet HEAD) || branch=
GIT_DIR=.git plain_git for-each-ref --format='create %(refname) %(objectname)' refs/heads | GIT_DIR=$own plain_git update-ref --stdin >/dev/null 2>&1 ||
	fail "cannot read the branches of the workspace"
export GIT_DIR=$own GIT_WORK_TREE="$PWD"
out=$(plain_git read-tree "$head" 2>&1) || fail "cannot read commit $head: $(git_message "$out")"
# Of nested repositories that git knows, it would ask git status, which runs their filters.
links=$(plain_git ls-files --stage | sed -n "s/^160000 [0-9a-f]* [0-3]$tab//p")
case $links in *'"'*) fail "cannot store the files: a nested repository has a name with quotes or control characters" ;; esac
set -f -- .
IFS='
'
for link in $links; do set -- "$@" ":(exclude,literal)$link"; done
unset IFS
for attempt in 1 2 3; do # a file that vanishes ends git
	missing=$(plain_git add --all --ignore-errors -- "$@" 2>&1)
	code=$?
	[ $code -eq 128 ] || break
done
missing=$(git_message "$missing")
[ $code -lt 128 ] || fail "cannot store the files, each of at most $W_KIB KiB: ${missing:-git was killed}"
[ -z "$links" ] || printf '%s\n' "$links" | plain_git update-index --remove --stdin 2>"$tmp/messages" || fail "cannot store the files: $(git_message "$(cat "$tmp/messages")")"
nested=$(plain_git diff-index --cached "$head" | sed -n "s/^:[0-9]* 160000 .*$tab//p" | head -n 3 | tr '\n' ' ')
[ -z "$nested" ] || missing="what is in the nested repositories: $nested"
tree=$(plain_git write-tree 2>"$tmp/messages") || fail "cannot store the files: $(git_message "$(cat "$tmp/messages")")"
commit=$head
if [ "$tree" != "$(plain_git rev-parse "$head^{tree}")" ]; then
	commit=$(GIT_AUTHOR_NAME=settle GIT_AUTHOR_EMAIL=settle@localhost GIT_COMMITTER_NAME=settle GIT_COMMITTER_EMAIL=settle@localhost \
		plain_git commit-tree "$tree" -p "$head" -m "$W_MESSAGE" 2>"$tmp/messages") || fail "cannot store the files: $(git_message "$(cat "$tmp/messages")")"
fi
plain_git update-ref refs/settle/checkpoint "$commit"
size=0
if [ -n "$(plain_git rev-list -n 1 --branches refs/settle/checkpoint "^$W_BASE")" ]; then
	out=$(plain_git bundle create --quiet "$tmp/bundle" --branches refs/settle/checkpoint "^$W_BASE" 2>&1) ||
		fail "cannot make a bundle of at most $W_KIB KiB: $(git_message "$out")"
	size=$(wc -c < "$tmp/bundle")
	[ "$size" -le $((W_KIB * 1024)) ] || fail "the bundle has $size bytes, more than $W_KIB KiB"
fi
branch=${branch#refs/heads/}
say ok "$head $commit $((size)) ${branch:--} $missing"
[ "$size" -eq 0 ] || cat "$tmp/bundle"
