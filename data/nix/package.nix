# Builds from the source of a release, which has the bundles: no npm, no network.
{
  lib,
  stdenv,
  src,
  version,
  meson,
  ninja,
  nodejs,
  gettext,
  glib,
  libxml2,
  desktop-file-utils,
  wrapGAppsHook4,
  gjs,
  gtk4,
  libadwaita,
  librsvg,
  adwaita-icon-theme,
  nftables,
}:

stdenv.mkDerivation {
  pname = "culvert";
  inherit version src;

  nativeBuildInputs = [
    meson
    ninja
    nodejs
    gettext
    glib
    libxml2
    desktop-file-utils
    wrapGAppsHook4
    gjs
  ];

  buildInputs = [
    gjs
    gtk4
    libadwaita
    librsvg
    adwaita-icon-theme
  ];

  # services, bus and polkit read these from the profile of the system
  mesonFlags = [
    "-Dinstall_format=nix"
    "-Dboot_guard=preset"
    "-Dgjs=${gjs}/bin/gjs"
    "-Dnft=${nftables}/bin/nft"
    "-Dsystemctl=/run/current-system/sw/bin/systemctl"
    "-Ddbus_policy_dir=${placeholder "out"}/share/dbus-1/system.d"
    "-Dpolkit_action_dir=${placeholder "out"}/share/polkit-1/actions"
  ];

  preFixup = ''
    gappsWrapperArgs+=(--prefix PATH : ${lib.makeBinPath [ nodejs gjs ]})
  '';

  meta = {
    description = "Unofficial client for Cloudflare WARP, with panel, tray and API";
    homepage = "@HOMEPAGE@";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
    mainProgram = "culvert";
  };
}
