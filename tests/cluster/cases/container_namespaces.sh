# SPDX-License-Identifier: BSD-3-Clause
# Ranks in a container, as enroot and apptainer build it: their own user and mount namespaces, and a root
# directory without Slurm (no scontrol, no slurm.conf, no munge). Submitted by an ordinary user.
. "$here/below_script.sh"
user=games
as() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
as test -r "$plugins/malleable.so" || skip "user $user cannot read $plugins"
as unshare --user --map-root-user --mount true 2>/dev/null || skip "users may not make name spaces here"

# Only what the program needs.
root=$work/image
mkdir -p "$root"/{bin,dev,proc,tmp}
container_file() { mkdir -p "$root$(dirname "$1")" && cp -Lf "$1" "$root$1"; }
LD_LIBRARY_PATH=$plugins ldd "$digits" /bin/bash | grep -o '/[^ ]*' | grep -v ':$' | sort -u | while read -r file; do container_file "$file"; done
cp "$digits" "$root/bin/digits"
cp /bin/bash "$root/bin/bash"
chmod -R a+rX "$root"
[ ! -e "$root/usr/bin/scontrol" ] || fail "the image has scontrol"

cat >"$work/enter" <<END
#!/bin/bash
# usage: enter DIRECTORY PROGRAM OPTION...
mount --rbind /dev $root/dev && mount --rbind /proc $root/proc && mount --rbind "\$1" "$root\$1" || exit
shift
unset SLURM_CONF
PATH=/bin LD_LIBRARY_PATH=$plugins exec $(PATH=$PATH:/usr/sbin:/sbin command -v chroot) $root "\$@"
END
chmod 755 "$work/enter"
mkdir -p "$root$work/container"
chmod -R a+rX "$root"
resize_below container "unshare --user --map-root-user --mount $work/enter $work/container /bin/digits"
[ "$(stat -c %U "$directory/steps.csv")" = "$user" ] || fail "it ran as $(stat -c %U "$directory/steps.csv")"
grep -q 'signalled to save at step' "$directory/out" || fail "nothing was asked: $(tail -3 "$directory/out")"
