# Makes the workspace from the repository, and says at which commit it is. A bundle
# on standard input is the checkpoint that it is to have.
mkdir -p "$W_DIR" && cd "$W_DIR" || fail "cannot make the directory $W_DIR"
if [ -n "$(ls -A .)" ]; then
	[ "$(owner 1)" = "$W_SESSION" ] || fail "the directory $PWD is not empty, and what is there is not the session's"
	# The mark stays, so that what a removal leaves that is cut off is still the session's.
	find . -type d ! -perm -700 -exec chmod u+rwx {} \; 2>/dev/null
	find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + 2>/dev/null
	find .git -mindepth 1 -maxdepth 1 ! -name "${mark#.git/}" -exec rm -rf {} + 2>/dev/null
	[ "$(ls -A .) $(ls -A .git)" = ".git ${mark#.git/}" ] || fail "cannot empty the directory $PWD"
fi
mkdir -p .git && printf '%s\nunfinished %s\n' "$W_SESSION" "$W_INSTANCE" > $mark || fail "cannot write in $PWD"
limit "$W_KIB"
out=$(plain_git init --quiet --template= . 2>&1) || fail "cannot make a repository: $(git_message "$out")"
# check_instance fails if another worker has begun to make the workspace anew meanwhile.
check_instance() { [ "$(owner 2)" = "unfinished $W_INSTANCE" ] || fail "another worker makes the workspace"; }
[ -z "$W_BUNDLE" ] || cat > .git/settle-bundle || fail "cannot store the checkpoint"
plain_git remote add origin "$W_REPO"

# The user's configuration counts here, and only here: it has the way to the server.
network_git() {
	GIT_ALLOW_PROTOCOL=file:git:http:https:ssh GIT_SSH_COMMAND="${GIT_SSH_COMMAND:-$(git config core.sshCommand || echo ssh -o BatchMode=yes)}" \
		git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 -c maintenance.auto=false "$@" 2>&1
}
depth=
[ "$W_DEPTH" = 0 ] || depth=--depth=$W_DEPTH
# fetch tries again, since servers are away for moments.
fetch() {
	for pause in 1 3 0; do
		out=$(network_git fetch --quiet --no-tags --no-recurse-submodules $depth origin "$1") && return 0
		case $out in
		*"find remote ref"* | *"not our ref"* | *"does not appear to be a git repository"* | *"not found"* | *"not allowed"* | *uthentication* | *"Permission denied"* | *"size limit"*) return 1 ;;
		esac
		[ $pause = 0 ] || sleep $pause
	done
	return 1
}
# fetch_reason prints git's messages about a failed fetch, which are short if a limit ended it.
fetch_reason() { git_message "$out" | sed "s/invalid index-pack output/& (a pack of more than $W_KIB KiB is refused)/"; }
branch=$W_BRANCH
if [ -n "$W_BASE" ]; then # it is made anew
	fetch "$W_BASE" || { depth=; fetch "${W_REF:-HEAD}"; } || fail "cannot fetch commit $W_BASE of $W_REPO: $(fetch_reason)"
	base=$W_BASE
else
	ref=$W_REF
	if [ -z "$ref" ]; then
		branch=$(network_git ls-remote --symref origin HEAD | sed -n "s/^ref: refs\/heads\/\(.*\)${tab}HEAD\$/\1/p")
		ref=${branch:+refs/heads/$branch}
	fi
	fetch "${ref:-HEAD}" || fail "cannot fetch ${W_REF:-HEAD} of $W_REPO: $(fetch_reason)"
	branch=$(sed -n "1s/^[0-9a-f]*$tab[^$tab]*${tab}branch '\(.*\)' of .*/\1/p" .git/FETCH_HEAD)
	base=$(plain_git rev-parse --verify --quiet 'FETCH_HEAD^{commit}') || fail "${W_REF:-HEAD} of $W_REPO is no commit"
fi
plain_git cat-file -e "$base^{commit}" 2>/dev/null || fail "commit $base is not in $W_REPO any more"
kib=$(plain_git ls-tree -r -l "$base" | awk '{ s += $4 } END { printf "%d", s / 1024 }')
[ "$kib" -le "$W_KIB" ] || fail "the files of $W_REPO have $kib KiB, more than $W_KIB"

check_instance
head=${W_HEAD:-$base} commit=${W_COMMIT:-$base}
if [ -n "$W_BUNDLE" ]; then
	out=$(protocols=file plain_git fetch --quiet --no-tags --update-head-ok .git/settle-bundle '+refs/heads/*:refs/heads/*' '+refs/settle/*:refs/settle/*' 2>&1) ||
		fail "cannot apply the checkpoint: $(git_message "$out")"
fi
if [ -n "$branch" ]; then
	out=$(plain_git symbolic-ref HEAD "refs/heads/$branch" 2>&1 && plain_git update-ref "refs/heads/$branch" "$head" 2>&1) || fail "cannot check $branch out: $(git_message "$out")"
	plain_git update-ref "refs/remotes/origin/$branch" "$base" 2>/dev/null
else
	out=$(plain_git update-ref --no-deref HEAD "$head" 2>&1) || fail "cannot check $head out: $(git_message "$out")"
fi
if [ "$commit" = "$base" ] && [ "$head" = "$base" ]; then
	out=$(plain_git reset --quiet --hard "$base" 2>&1) || fail "cannot check $base out: $(git_message "$out")"
else # to the byte, as it was stored; what was not committed is not now
	mkdir -p .git/info && printf '* -text -filter -ident -working-tree-encoding\n' > .git/info/attributes
	out=$(plain_git reset --quiet --hard "$commit" 2>&1 && plain_git reset --quiet --soft "$head" 2>&1 && plain_git read-tree "$head" 2>&1) ||
		fail "cannot check the checkpoint out: $(git_message "$out")"
	rm -f .git/info/attributes
	plain_git update-index -q --refresh >/dev/null 2>&1
	plain_git update-ref -d refs/settle/checkpoint 2>/dev/null
fi
rm -f .git/settle-bundle
check_instance
printf '%s\n%s\n' "$W_SESSION" "$W_INSTANCE" > $mark || fail "cannot write in $PWD"
say ok "$base $branch"
