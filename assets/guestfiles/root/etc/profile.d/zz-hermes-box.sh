# An interactive ssh login of the user agent opens tmux. Commands, scripts and shells inside tmux do not.
case $- in
*i*)
	if [ -n "${SSH_TTY-}" ] && [ -z "${TMUX-}" ] && [ -t 0 ] && [ -t 1 ] && [ "$(id -u)" = 1000 ]; then
		# Detaching ends the login. If tmux cannot run, this shell remains.
		tm && exit
	fi
	;;
esac
# When memory runs out, the programs in tmux are killed before tmux itself, the logins and the services.
if [ -n "${TMUX-}" ]; then
	{ echo 300 >/proc/self/oom_score_adj; } 2>/dev/null
fi
