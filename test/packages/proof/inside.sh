#!/bin/sh
# Runs one proof inside of a fresh root (see prove.sh): inside.sh appimage|user|deb VERSION NEXT SOURCE, or
# rpm|arch VERSION [NEXT], or apt|dnf|dnf5 VERSION NEXT SOURCE PACKAGE. NEXT is offered by the release pages whose address is built in,
# and by a web server, SOURCE; for apt and both dnf, SOURCE is that of their repository.
set -eu
# shellcheck disable=SC2034 # of repository.sh
what=$1 version=$2 next=${3-} source=${4-} package=${5-}
dist=/run/dist
say() { printf '%s\n' "  $*"; }
die() { say "$@" >&2; exit 1; }

listing() { find / -xdev -path /run -prune -o -path /proc -prune -o -path /dev -prune -o -path /tmp -prune -o -print | LC_ALL=C sort; }

# [EXPRESSION]: but for these paths
# shellcheck disable=SC2120 # of repository.sh
same_as_before() {
  listing >/tmp/after
  for when in before after; do grep -v "${1-^$}" /tmp/$when >/tmp/$when.kept; done
  # what the package system and the font and icon caches of others keep is not ours
  diff /tmp/before.kept /tmp/after.kept >/tmp/difference || { cat /tmp/difference >&2; die 'Files were left behind.'; }
  say "file lists before and after are identical ($(wc -l </tmp/before.kept) entries)"
}

process_of() {
  for process in /proc/[0-9]*; do
    if { tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null | grep -q "/$1\.c\{0,1\}js "; then
      echo "${process#/proc/}"
      return 0
    fi
  done
  return 1
}

until_true() {
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 150 ] || { cat /tmp/log >&2; die "not so after 30 s: $*"; }
    sleep 0.2
  done
}

no_complaints() {
  if grep -q 'Failed to load icon\|JS ERROR\|CRITICAL' /tmp/log; then
    cat /tmp/log >&2
    die 'Panel or tray complained.'
  fi
}

# Closes the panel, and opens it again by a second start of the program.
reopen() {
  closed=$(process_of panel) || { cat /tmp/log >&2; die 'The panel has ended.'; }
  kill "$closed"
  while [ -e "/proc/$closed" ]; do sleep 0.1; done
  "$@" >>/tmp/log 2>&1
  until_true process_of panel
  sleep 3
  panel=$(process_of panel) || { cat /tmp/log >&2; die 'The panel of the second start has ended.'; }
  no_complaints
}

# Runs a command that has to succeed and to print this: prints EXPRESSION COMMAND…
prints() {
  expression=$1
  shift
  "$@" >/tmp/output 2>/tmp/complaints && grep -q "$expression" /tmp/output && return
  cat /tmp/output /tmp/complaints /tmp/log >&2
  die "$* did not print \"$expression\"."
}

# Whether daemon, tray and panel run as a version, after a restart: runs_as VERSION COMMAND…
runs_as() {
  now=$1
  shift
  prints "^culvert $now\$" "$@" --version
  prints "^Installed  *$now\$" "$@" update check # by the daemon
  before=$daemon
  daemon=$(process_of daemon/main)
  [ "$daemon" != "$before" ] || die 'The daemon did not start again.'
  until_true process_of tray
  reopen "$@" # one of a second start outlives the daemon, and is the old one
  prints 'demo: no tunnel' "$@" status
  say "now $now: daemon is process $daemon, tray $(process_of tray), panel $panel"
}

# Updates what runs to the next version, and goes back.
there_and_back() {
  prints "^Updated from Culvert $version to $next\." "$@" update apply
  runs_as "$next" "$@"
  prints "^Culvert $next is the newest" "$@" update check
  prints "^Went back from Culvert $next to $version\.\$" "$@" update rollback
  runs_as "$version" "$@"
}

# Does so through the release pages whose address is built in, and through a web server.
update() {
  daemon=$(process_of daemon/main)
  prints "^Culvert $next is out. To install it: culvert update apply\$" "$@" update check
  there_and_back "$@"
  "$@" config set updates.source "$source" >/tmp/output 2>&1
  prints "^Culvert $next was rolled back and is not offered again" "$@" update check
  there_and_back "$@"
}

# Updates a package by the command that an update names, through the release pages.
upgrade() {
  prints "^Culvert $next is out. To install it: cd " "$@" update check
  command=$(sed -n "s/^Culvert $next is out. To install it: //p" /tmp/output)
  PATH=/tmp/shims:$PATH sh -euc "$command" </dev/null >/tmp/upgrade 2>&1 || { cat /tmp/upgrade >&2; die "The command failed: $command"; }
  prints "^culvert $next\$" "$@" --version
  [ "$what" = deb ] || [ "$(cat /usr/share/culvert/install-format)" = "$what" ] || die 'It does not know what package it is.'
  say "updated to $next by: $command"
}

# Puts a script in place of a command that can't run in a root: shim NAME SCRIPT
shim() {
  mkdir -p /tmp/shims
  printf '#!/bin/sh\nset -eu\n%s\n' "$2" >"/tmp/shims/$1"
  chmod 755 "/tmp/shims/$1"
}

# Starts everything, closes the panel, opens it again by a second start, looks, and stops.
# run update|upgrade|: COMMAND…, with what in between
run() {
  between=$1
  shift
  DBUS_SESSION_BUS_ADDRESS=$(dbus-daemon --session --fork --print-address)
  export DBUS_SESSION_BUS_ADDRESS
  "$@" --demo --port 4290 >/tmp/log 2>&1 &
  starter=$!
  until_true "$@" status
  until_true process_of tray
  until_true process_of panel
  sleep 2
  reopen "$@"
  "$@" status >/tmp/status
  say "$("$@" --version): $(cat /tmp/status)"
  say "tray is process $(process_of tray), panel was $closed, and after a second start is $panel"
  grep -q 'demo: no tunnel' /tmp/status
  "$between" "$@"
  "$@" stop >/dev/null
  wait $starter
  kill "$panel" 2>/dev/null || true # it waits for the next daemon
}

packages() { apt-get -qy install --no-install-recommends "$@" >/tmp/apt 2>&1 || { tail -n 20 /tmp/apt >&2; return 1; }; }
has_node_20() { apt-cache policy nodejs | grep -q 'Candidate: \(2[0-9]\|[3-9][0-9]\)'; }

apt-get -q update >/dev/null 2>&1 || die 'apt-get update failed.'
# shellcheck source=test/packages/proof/repository.sh
. /run/proof/repository.sh
case $what in
  apt) prove_apt ;;
  dnf | dnf5) prove_dnf ;;
  appimage)
    image=/opt/culvert.AppImage
    original=$dist/culvert-$version-$(uname -m).AppImage
    cp "$original" $image
    for program in node gjs; do ! command -v $program || die "$program is here already, so this proves nothing."; done
    packages dbus fuse3
    useradd --uid 1000 --create-home someone
    say "mounted, for a user who isn't root"
    mknod -m 666 /tmp/fuse c 10 229
    (
      mount --bind /tmp/fuse /dev/fuse # some machines give the device to root alone
      setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/someone $image help >/tmp/help 2>/tmp/complaints
      umount --lazy /dev/fuse
    )
    [ ! -s /tmp/complaints ] || { cat /tmp/complaints >&2; die 'A user could not mount it.'; }
    grep -q 'culvert' /tmp/help
    while ls -d /tmp/.mount_* >/dev/null 2>&1; do sleep 0.1; done
    touch /etc/mtab.fuselock # fusermount3 creates it wherever /etc is writable
    rm $image
    listing >/tmp/before
    cp "$original" $image
    for way in mounted unpacked; do
      [ $way = mounted ] || mount --bind /dev/null /dev/fuse # in this mount namespace alone
      say "$way"
      run update $image
      cmp $image "$original"
      tries=0
      while ls -d /tmp/.mount_* /tmp/appimage_* >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || die 'A mount point or an unpacked tree is left behind.'
        sleep 0.1
      done
      rm -rf /root/.local /root/.config /root/.cache /root/.gnupg
    done
    rm $image
    same_as_before ;;
  user)
    if ! has_node_20; then
      say 'left out: the archive has no Node 20'
      exit 0
    fi
    packages nodejs gjs gir1.2-adw-1 gir1.2-gtk-4.0 librsvg2-common adwaita-icon-theme dbus
    listing >/tmp/before
    tar -xzf "$dist/culvert-$version-user.tar.gz" -C /tmp
    "/tmp/culvert-$version/bin/culvert" __install "/tmp/culvert-$version" >/tmp/install || { cat /tmp/install >&2; die 'install failed'; }
    export PATH="$HOME/.local/bin:$PATH"
    run update culvert
    [ "$(culvert --version)" = "culvert $version" ]
    culvert __uninstall --purge >/tmp/uninstall || { cat /tmp/uninstall >&2; die 'uninstall failed'; }
    rm -rf /root/.cache
    rmdir /root/.local/* /root/.local /root/.config 2>/dev/null || true
    same_as_before ;;
  deb)
    for part in '' -daemon -archive-keyring; do cp "$dist/culvert-$version$part.deb" "/tmp/culvert$part.deb"; done
    if ! has_node_20; then
      ! packages /tmp/culvert*.deb 2>/dev/null || die 'It was installed although Node is too old.'
      say "refused: $(grep -m1 'Depends: nodejs' /tmp/apt)"
      exit 0
    fi
    # what it depends on stays when it goes, so that comes first
    # shellcheck disable=SC2046
    packages $(for deb in /tmp/culvert.deb /tmp/culvert-daemon.deb; do dpkg-deb -f $deb Depends; done |
      sed 's/culvert-[a-z-]*//g; s/([^)]*)//g; s/|[^,]*//g; s/,/ /g') nftables dbus curl
    rm -f /var/cache/apt/archives/*.deb
    shim sudo 'exec "$@"'
    listing >/tmp/before
    packages /tmp/culvert*.deb
    run upgrade culvert
    dpkg --purge culvert culvert-daemon culvert-archive-keyring >/tmp/purge 2>&1 || { cat /tmp/purge >&2; die 'purge failed'; }
    rm -rf /root/.local /root/.config /root/.cache /root/.gnupg
    same_as_before ;;
  rpm | arch)
    # what the package depends on has other names here, so that comes from Debian, and the package alone is installed
    packages nodejs gjs gir1.2-adw-1 gir1.2-gtk-4.0 librsvg2-common adwaita-icon-theme nftables dbus
    # what the command of an update builds the package with
    [ -z "$next" ] || packages curl meson ninja-build gettext libglib2.0-dev-bin libxml2-utils librsvg2-bin desktop-file-utils
    if [ "$what" = rpm ]; then
      packages rpm
      shim sudo 'command=$1; shift; exec "$command" --nodeps "$@"'
      rpm --initdb
      install() { rpm -i --nodeps "$dist/culvert-$version.rpm" "$dist/culvert-$version-daemon.rpm" "$dist/culvert-$version-archive-keyring.rpm"; }
      remove() { rpm -e culvert culvert-daemon culvert-archive-keyring; }
      owned='rpm -qf'
    else
      packages pacman-package-manager libarchive-tools
      mkdir -p /var/lib/pacman
      printf '[options]\nArchitecture = auto\nSigLevel = Optional\n' >/tmp/pacman.conf
      pacman() { command pacman --config /tmp/pacman.conf --noconfirm "$@"; }
      install() { pacman -U -dd "$dist/culvert-$version-1-any.pkg.tar.zst"; }
      remove() { pacman -R -dd culvert; }
      # as "makepkg -si" of somebody who has what the package depends on; makepkg refuses to run as root
      packages makepkg zstd binutils minisign
      # shellcheck disable=SC2016 # for the shim
      shim makepkg '[ "$*" = -si ] && cp -r ~/.gnupg . && chown -R nobody . && chmod 755 .. && setpriv --reuid nobody --clear-groups \
        env HOME="$PWD" PKGEXT=.pkg.tar.zst /usr/bin/makepkg --nodeps --noconfirm
        exec pacman --config /tmp/pacman.conf --noconfirm -U -dd culvert-*.pkg.tar.zst'
      owned='command pacman --config /tmp/pacman.conf -Qo'
    fi
    rm -f /var/cache/apt/archives/*.deb
    # the databases of both change whenever they are used
    install >/tmp/install 2>&1 || { cat /tmp/install >&2; die 'install failed'; }
    remove >/tmp/remove 2>&1 || { cat /tmp/remove >&2; die 'remove failed'; }
    listing >/tmp/before
    install >/tmp/install 2>&1 || { cat /tmp/install >&2; die 'install failed'; }
    $owned /usr/bin/culvert /usr/lib/systemd/system-preset/90-culvert-killswitch.preset >/tmp/owned 2>&1 || { cat /tmp/owned >&2; die 'Files belong to no package.'; }
    [ "$(culvert --version)" = "culvert $version" ] || die 'It is another version.'
    [ "$(cat /usr/share/culvert/install-format)" = "$what" ] || die 'It does not know what package it is.'
    if [ -n "$next" ]; then run upgrade culvert; else run : culvert; fi
    remove >/tmp/remove 2>&1 || { cat /tmp/remove >&2; die 'remove failed'; }
    rm -rf /root/.local /root/.config /root/.cache /root/.gnupg
    same_as_before ;;
esac
