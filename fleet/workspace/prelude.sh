# The beginning of all scripts. They are sh, and need git and the tools of POSIX. The
# first line that they put out begins with "ok" or "failed".
set -u
umask 022
unset $(git rev-parse --local-env-vars 2>/dev/null) 2>/dev/null || :
export LC_ALL=C GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat

tab=$(printf '\t')
say() { printf '%s\n' "$*" | tr -d '\r' | head -n 1; }
fail() { say "failed $*"; exit 0; }
# git_message prints git's messages without advice, in one line.
git_message() {
	printf '%s\n' "$1" | sed -e 's/^fatal: //' -e 's/^error: //' -e '/^hint:/d' -e '/^warning:/d' -e '/^$/d' -e '/^Please make sure you have/d' \
		-e '/^and the repository exists/d' -e '/^Could not read from remote repository/d' | head -n 5 | tr '\n' ';' | sed -e 's/;$//' -e 's/;/; /g'
}

command -v git >/dev/null 2>&1 || fail "there is no git on the machine"

# plain_git is git without anybody's configuration, filters and hooks, and without a
# network.
plain_git() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 GIT_NO_LAZY_FETCH=1 \
		GIT_ALLOW_PROTOCOL="${protocols-}" GIT_NO_REPLACE_OBJECTS=1 git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 \
		-c maintenance.auto=false -c advice.detachedHead=false -c advice.addEmbeddedRepo=false -c safe.directory='*' \
		-c core.quotePath=false "$@"
}

# limit bounds what a file may become, in KiB: shells count in blocks of their own.
limit() {
	if [ -n "${BASH_VERSION-}" ]; then ulimit -f "$1"; else ulimit -f $(($1 * 2)); fi 2>/dev/null || :
}

# mark is the file that identifies a workspace: its session and its instance. owner prints a line of it.
mark=.git/settle-workspace
owner() { [ -d .git ] && [ ! -L .git ] && [ -f $mark ] && [ ! -L $mark ] && sed -n "$1p" $mark; }
