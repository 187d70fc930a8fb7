#!/bin/sh
# Run in mount and process namespaces of its own: all that it mounts and starts is gone when it ends.
set -eu
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK" "$MERGED"
mount -t proc proc "$MERGED/proc"
mount --rbind /dev "$MERGED/dev"
mount -t tmpfs tmpfs "$MERGED/dev/shm"
mount --bind "$SHARED" "$MERGED/mnt"
mkdir -p "$MERGED$WALKER_HOME/.npm" "$MERGED$WALKER_HOME/.cache/pip"
chown "$WALKER_ID:$WALKER_ID" "$MERGED$WALKER_HOME/.npm" "$MERGED$WALKER_HOME/.cache" "$MERGED$WALKER_HOME/.cache/pip"
mount --bind "$DOWNLOADS/npm" "$MERGED$WALKER_HOME/.npm"
mount --bind "$DOWNLOADS/pip" "$MERGED$WALKER_HOME/.cache/pip"
if [ "$NETWORK" = loopback ]; then ip link set lo up; fi
chroot --userspec="$WALKER:$WALKER" "$MERGED" env -i "$@" bash "/mnt/$SCRIPT"
