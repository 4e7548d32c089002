# The part of inside.sh for the repositories of apt and dnf: subscribes by the lines of RELEASING.md, installs, upgrades to the
# next release, and removes. /run/dist has the repositories of both releases, one and next, and "published", which is served at
# the address SOURCE.
# shellcheck shell=sh disable=SC2154 # variables and functions of inside.sh

publish() {
  rm -rf /run/dist/published/*
  cp -r "/run/dist/$1/." /run/dist/published/
}

# The documented lines from one that starts with this to one that starts with that, for this package, without questions.
documented() {
  lines=$(sed -n "/^$1/,/^$2/p" /run/dist/RELEASING.md |
    sed "s|ADDRESS|$source|; s|install culvert\$|install -qy ${3-} $package|")
  PATH=/tmp/shims:$PATH sh -euc "$lines" </dev/null >/tmp/subscribed 2>&1 || { cat /tmp/subscribed >&2; die "These lines failed: $lines"; }
}

# Which of the three are wanted.
parts() { if [ "$package" = culvert ]; then echo culvert culvert-daemon culvert-archive-keyring; else echo culvert-daemon culvert-archive-keyring; fi; }

# VERSION COMMAND…: what a package system says of each part
all_are() {
  wanted=$1
  shift
  for part in $(parts); do
    [ "$("$@" "$part")" = "$wanted" ] || die "$part is $("$@" "$part"), not $wanted."
  done
  [ "$(culvert --version)" = "culvert $wanted" ] || die 'The program is of another version.'
}

apt_version() { dpkg-query -W -f '${Version}' "$1"; }
rpm_version() { rpm -q --qf '%{VERSION}' "$1"; }

no_gtk() { [ -z "$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'libgtk*' 'gir1.2-gtk*' 2>/dev/null | grep ' installed')" ]; }

# Starts the demo of a daemon alone, or everything.
run_part() {
  if [ "$package" = culvert ]; then
    run : culvert
    return
  fi
  culvert --demo --no-tray --no-panel --port 4290 >/tmp/log 2>&1 &
  until_true culvert status
  grep -q 'demo: no tunnel' <<F || die 'The daemon says something else.'
$(culvert status)
F
  say "$(culvert --version): $(culvert status)"
  culvert stop >/dev/null
  wait $!
}

purge() {
  apt-get -qy purge culvert culvert-daemon culvert-archive-keyring >/tmp/purge 2>&1 || { cat /tmp/purge >&2; die 'purge failed'; }
  [ ! -e /usr/bin/culvert ] || die 'The program is still there.'
  apt-get -q update >/dev/null 2>&1 # forgets the lists of a source that is gone
  rm -rf /root/.local /root/.config /root/.cache /var/cache/apt/archives/*.deb
  same_as_before
}

upgrade_by_apt() {
  { apt -q update && apt -qy upgrade; } >/tmp/upgrade 2>&1 || { cat /tmp/upgrade >&2; die 'apt update && apt upgrade failed'; }
}

prove_apt() {
  # what NodeSource's package is to Debian 12, from this machine's Node
  has_node_20 || dpkg -i /run/dist/nodejs.deb >/dev/null
  dependencies='curl nftables dbus'
  [ "$package" != culvert ] || dependencies="$dependencies gjs gir1.2-adw-1 gir1.2-gtk-4.0 librsvg2-common adwaita-icon-theme"
  has_node_20 && dependencies="$dependencies nodejs"
  # shellcheck disable=SC2086 # words
  packages $dependencies
  shim sudo 'exec "$@"'
  touch /var/lib/apt/extended_states
  apt-get -q update >/dev/null 2>&1
  rm -f /var/cache/apt/archives/*.deb
  listing >/tmp/before
  publish one
  documented 'sudo curl -fsSLo \/usr\/share\/keyrings' 'sudo apt update' --no-install-recommends
  all_are "$version" apt_version
  say "the documented lines installed $(parts)"
  [ "$package" = culvert ] || no_gtk || die 'The daemon alone has brought GTK.'
  publish next
  upgrade_by_apt
  all_are "$next" apt_version
  run_part
  purge
  # the one package of before, which had the files of two
  publish one
  dpkg -i /run/dist/single.deb >/tmp/single 2>&1 || { cat /tmp/single >&2; die 'The single package was not installed.'; }
  package=culvert
  if no_gtk; then
    # its upgrade would bring the panel, so a server takes the daemon instead
    package=culvert-daemon
    documented 'sudo curl -fsSLo \/usr\/share\/keyrings' 'sudo apt update' '--no-install-recommends culvert-'
  else
    documented 'sudo curl -fsSLo \/usr\/share\/keyrings' 'sudo curl -fsSLo \/etc\/apt'
    upgrade_by_apt
  fi
  all_are "$version" apt_version
  say "the single package became $(parts)"
  purge
}

prove_dnf() {
  packages rpm dnf5 createrepo-c curl nodejs gjs nftables gir1.2-adw-1 gir1.2-gtk-4.0 librsvg2-common adwaita-icon-theme dbus
  dnf=$(command -v dnf5)
  shim sudo 'exec "$@"'
  shim dnf "exec $dnf \"\$@\""
  rpm --initdb
  # the names of what the packages need are those of Fedora
  rpm -i --nodeps /run/dist/names.rpm
  mkdir -p /etc/pki/rpm-gpg /etc/yum.repos.d
  publish one
  documented 'sudo curl -fsSLo \/etc\/pki' 'sudo dnf install'
  all_are "$version" rpm_version
  say "the documented lines, by $($dnf --version 2>/dev/null | head -n 1), installed $(parts)"
  publish next
  $dnf -qy upgrade --refresh >/tmp/upgrade 2>&1 || { cat /tmp/upgrade >&2; die 'dnf upgrade failed'; }
  all_are "$next" rpm_version
  run_part
  # shellcheck disable=SC2046 # words
  $dnf -qy remove $(parts) >/tmp/remove 2>&1 || { cat /tmp/remove >&2; die 'dnf remove failed'; }
  rm -rf /root/.local /root/.config /root/.cache
  left=$(find / -xdev \( -path /proc -o -path /run -o -path /tmp -o -path /var/cache -o -path /var/log -o -path '/var/lib/*dnf*' \) -prune -o -iname '*culvert*' -print)
  [ -z "$left" ] || die "These files are left: $left"
  say 'removed, and no file is left'
}
