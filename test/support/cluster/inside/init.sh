# The first process of the cluster's own network, mounts and process ids: everything in them ends with it. It ends when its
# standard input does, which whoever started it holds open: however that one dies, nothing of the cluster is left.
set -euo pipefail
directory=$1 address=$2

mount --make-rshared /
# Folders that programs insist on are the cluster's own, and none of the machine's is written to.
for folder in /run /var/log /var/lib/cni /var/lib/kubelet; do
  mount -t tmpfs tmpfs "$folder"
done
mkdir /run/netns /run/containerd
# kubelet sets these, of the whole machine: here it sets copies.
settings=(kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes vm/overcommit_memory vm/panic_on_oom)
for setting in "${settings[@]}"; do
  mkdir -p "/run/settings/${setting%/*}"
  cat "/proc/sys/$setting" > "/run/settings/$setting"
  mount --bind "/run/settings/$setting" "/proc/sys/$setting"
done

ip link set lo up
ip link add node0 type bridge
ip address add "$address/24" dev node0
ip link set node0 up
# Leads nowhere: programs want a default route, and no packet can leave.
ip route add default via "${address%.*}.254" dev node0
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables

touch "$directory/entered"
cat > /dev/null
