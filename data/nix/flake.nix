# data/release/recipes.sh fills in @…@.
{
  description = "Unofficial client for Cloudflare WARP, with panel, tray and API";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      packagesFor =
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        rec {
          culvert = pkgs.callPackage ./package.nix {
            version = "@VERSION@";
            src = pkgs.fetchurl {
              url = "@SOURCE_URL@";
              sha256 = "@SHA256@";
            };
          };
          default = culvert;
        };
    in
    {
      packages = nixpkgs.lib.genAttrs systems packagesFor;
    };
}
