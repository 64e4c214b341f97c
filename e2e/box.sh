#!/bin/sh
# make box: create or start a box from the files that the lab has fetched. It can be run again. It asks before it opens
# the box, because tmux then covers the text that explains how to sign in.
set -eu
: "${HERMES_BOX_LAB:?run by make box}"
user=$(go run ./e2e/lab user)
[ -e hermes-box.yaml ] || printf 'schema: 1\nname: main\n' >hermes-box.yaml
[ -e hermes-box.lock ] || cp "$HERMES_BOX_LAB/hermes-box.lock" hermes-box.lock
chmod a+r hermes-box.yaml hermes-box.lock
if ! ./hermes-box status --json | grep -q '"state":"absent"'; then
	./hermes-box start
else
	./hermes-box create
fi
[ "$user" = "$(id -un)" ] || echo "as root, hermes-box works as the user $user: Lima refuses root"
if [ -t 0 ] && [ -t 1 ]; then
	printf 'open it now? [Y/n] '
	read -r answer || answer=n
	case $answer in
	[nN]*) ;;
	*) exec ./hermes-box ssh ;;
	esac
fi
command -v hermes-box >/dev/null || echo "hermes-box is not on your PATH: type ./hermes-box"
