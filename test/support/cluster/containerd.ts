import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { eventually } from "../eventually.ts";
import { POD_NETWORK } from "./addresses.ts";
import type { Image } from "./images/images.ts";
import type { Room } from "./room.ts";

const UP_WITHIN_MS = 60_000;

/** containerd in a room: its images and snapshots are in `root`, all else in the room's own directory. */
export async function startContainerd(
  room: Omit<Room, "close">,
  options: { directory: string; root: string; pause: Image },
): Promise<string> {
  const { directory } = options;
  const socket = path.join(directory, "containerd.sock");
  const networks = path.join(directory, "networks");
  await mkdir(networks, { recursive: true });
  await writeFile(path.join(networks, "10-pods.conflist"), JSON.stringify(podNetwork(directory)));
  await writeFile(path.join(directory, "containerd.toml"), settings({ ...options, socket, networks }));
  await room.start("containerd", ["containerd", "--config", path.join(directory, "containerd.toml")]);
  await eventually(() => room.run(["ctr", "--address", socket, "version"]), { withinMs: UP_WITHIN_MS, everyMs: 200 });
  return socket;
}

interface Settings {
  directory: string;
  root: string;
  pause: Image;
  socket: string;
  networks: string;
}

function settings({ directory, root, pause, socket, networks }: Settings): string {
  return `version = 2
root = "${root}"
state = "${path.join(directory, "containerd")}"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pause.reference}"
  # A root without CAP_SYS_RESOURCE cannot lower it.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${networks}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`;
}

function podNetwork(directory: string): object {
  const ipam = { type: "host-local", dataDir: path.join(directory, "addresses"), ranges: [[{ subnet: POD_NETWORK }]] };
  // Without hairpin mode a pod does not reach itself through its Service.
  const bridge = { type: "bridge", bridge: "pods0", isDefaultGateway: true, hairpinMode: true, ipMasq: false, ipam };
  return { cniVersion: "0.4.0", name: "pods", plugins: [bridge] };
}
