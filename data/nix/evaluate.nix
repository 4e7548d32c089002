# Evaluates the flake without a network, for data/release/prove-recipes.sh: with names in place of the packages of nixpkgs,
# every expression of flake and package is computed. Whether nixpkgs has these packages is not tried.
{ directory }:
let
  flake = import (directory + "/flake.nix");
  package = import (directory + "/package.nix");
  lib = {
    genAttrs =
      names: make:
      builtins.listToAttrs (
        map (name: {
          inherit name;
          value = make name;
        }) names
      );
    makeBinPath = builtins.concatStringsSep ":";
    licenses.mit = "MIT";
    platforms.linux = "linux";
  };
  stubs = builtins.mapAttrs (name: _: "/stub/${name}") (builtins.functionArgs package) // {
    inherit lib;
    stdenv.mkDerivation = arguments: arguments;
  };
  pkgs = {
    callPackage = file: own: import file (stubs // own);
    fetchurl = source: source;
  };
  nixpkgs = {
    inherit lib;
    legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (_: pkgs);
  };
in
flake.outputs {
  self = { };
  inherit nixpkgs;
}
