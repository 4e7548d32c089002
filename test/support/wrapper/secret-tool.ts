// A Secret Service in a directory, ~/keyring, distinguished by its attributes; it breaks as the real one does.

export const SECRET_TOOL = `#!/bin/sh
store="$HOME/keyring"
[ -e "$HOME/locked" ] && exit 1
[ -e "$HOME/hangs" ] && exec sleep 60
verb=$1; shift
case "$1" in --label=*) shift ;; esac
name=$(printf '%s.' "$@" | tr -c 'a-zA-Z0-9._\\n' _)
mkdir -p "$store"
case $verb in
  store) cat > "$store/$name" ;;
  lookup) [ -e "$store/$name" ] || exit 1; cat "$store/$name" ;;
  clear) rm -f "$store/$name" ;;
esac
`;
