# Says which instance of the workspace is in the directory.
[ -d "$W_DIR" ] || { say ok none; exit 0; }
cd "$W_DIR" || fail "cannot enter $W_DIR"
if [ "$(owner 1)" = "$W_SESSION" ]; then
	say ok "here $(owner 2)"
elif [ -z "$(ls -A .)" ]; then
	say ok none
else
	say ok foreign
fi
