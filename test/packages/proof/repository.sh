# The part of inside.sh for the repositories of apt and dnf: subscribes by the lines of RELEASING.md, installs, upgrades to the
# next release, and removes. /run/dist has the repositories of both releases, one and next, and "published", which is served at
# the address SOURCE.
# shellcheck shell=sh disable=SC2154 # variables and functions of inside.sh

publish() {
  rm -rf /run/dist/published/*
  cp -r "/run/dist/$1/." /run/dist/published/
}

# Prints documented lines, from the first word to the second at the start of a line, for this package and without questions.
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

# remove | purge: the source goes with its keys, so that apt has nothing to complain about
leave() {
  apt-get -qy "$1" culvert culvert-daemon culvert-archive-keyring >/tmp/left 2>&1 || { cat /tmp/left >&2; die "$1 failed"; }
  apt-get -q update >/tmp/left 2>&1 || { cat /tmp/left >&2; die "apt-get update failed after $1."; }
  rm -rf /root/.local /root/.config /root/.cache /var/cache/apt/archives/*.deb
  # dpkg keeps the scripts of a purge after a removal
  if [ "$1" = remove ]; then same_as_before '^/var/lib/dpkg/info/culvert'; else same_as_before; fi
}

# DAYS STATUS EXPRESSION: what the doctor says of the repository that many days from now
finding() {
  status=0
  faketime --exclude-monotonic -f "+$1d" culvert doctor --only culvert-packages --json >/tmp/finding 2>&1 || status=$?
  { [ $status -eq "$2" ] && grep -q "$3" /tmp/finding; } ||
    { cat /tmp/finding >&2; die "In $1 days the doctor ends with $status, and not with $2 and \"$3\"."; }
}

# As time passes, and nobody signs the repository again.
prove_expiry() {
  finding 1 0 'the list of packages holds until'
  # some machines turn the dates off
  ! faketime -f +100d apt-get -q -o APT::Sandbox::User=root -o Acquire::Check-Date=true -o Acquire::Check-Valid-Until=true \
    -o Dir::Etc::SourceList=/dev/null update >/tmp/late 2>&1 || die 'apt took an index that has expired.'
  grep -q "^E: .*$source.*expired" /tmp/late || { cat /tmp/late >&2; die 'apt complained of something else.'; }
  finding 100 1 'its maintainer has to sign it again'
  rm /var/lib/apt/lists/*_dists_stable_InRelease
  finding 3630 0 'Fetch the new key before that'
  finding 3660 1 'apt refuses updates of Culvert until you fetch the new key'
  say 'the doctor says when index and keys expire, and apt refuses that index'
}

upgrade_by_apt() {
  { apt -q update && apt -qy upgrade; } >/tmp/upgrade 2>&1 || { cat /tmp/upgrade >&2; die 'apt update && apt upgrade failed'; }
}

prove_apt() {
  # what NodeSource's package is to Debian 12, from this machine's Node
  has_node_20 || dpkg -i /run/dist/nodejs.deb >/dev/null
  dependencies='curl nftables dbus faketime'
  # what the daemon recommends comes with an upgrade of the one package
  [ "$package" != culvert ] || dependencies="$dependencies gjs gir1.2-adw-1 gir1.2-gtk-4.0 librsvg2-common adwaita-icon-theme polkitd"
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
  prove_expiry
  leave remove
  leave purge
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
  leave purge
}

prove_dnf() {
  packages rpm "$what" createrepo-c faketime curl nodejs gjs nftables gir1.2-adw-1 gir1.2-gtk-4.0 librsvg2-common adwaita-icon-theme dbus
  dnf=$(command -v "$what")
  shim sudo 'exec "$@"'
  shim dnf "exec $dnf \"\$@\""
  rpm --initdb
  # names of what the packages need, and directories, which are those of Fedora's filesystem, systemd, dbus-common and hicolor-icon-theme
  rpm -i --nodeps /run/dist/names.rpm
  mkdir -p /etc/pki/rpm-gpg /etc/yum.repos.d /usr/lib/systemd/system-preset
  for name in dbus-1/interfaces dbus-1/services dbus-1/system-services licenses metainfo zsh/site-functions \
    icons/hicolor/scalable/apps icons/hicolor/scalable/status icons/hicolor/symbolic/apps icons/hicolor/symbolic/status; do
    mkdir -p "/usr/share/$name"
  done
  listing >/tmp/before
  publish one
  documented 'sudo curl -fsSLo \/etc\/pki' 'sudo dnf install'
  all_are "$version" rpm_version
  say "the documented lines, by $what $($dnf --version 2>/dev/null | sed "s|.* ||; q"), installed $(parts)"
  publish next
  $dnf -qy upgrade --refresh >/tmp/upgrade 2>&1 || { cat /tmp/upgrade >&2; die 'dnf upgrade failed'; }
  all_are "$next" rpm_version
  run_part
  finding 1 0 'the keys in [^ ]*RPM-GPG-KEY-culvert expire at'
  finding 3630 0 'Fetch the new key before that: dnf'
  finding 3660 1 'dnf refuses updates of Culvert until you fetch the new key'
  # shellcheck disable=SC2046 # words
  $dnf -qy remove $(parts) >/tmp/remove 2>&1 || { cat /tmp/remove >&2; die 'dnf remove failed'; }
  rm -rf /root/.local /root/.config /root/.cache
  # what dnf and rpm keep for themselves
  same_as_before '^/var/\(cache\|log\|lib/dnf\|lib/rpm\)\|^/usr/lib/sysimage'
}
