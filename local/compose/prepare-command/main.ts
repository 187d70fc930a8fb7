import { prepareVolumes } from "../volumes.ts";

/** The first service of compose.yaml. It runs as root, because a new volume belongs to root. */
const ROOT = "/volumes";
/** As the Dockerfile's USER. */
const GATEWAY = { uid: 65_532, gid: 65_532 };

await prepareVolumes(ROOT, GATEWAY);
console.log("The volumes are ready.");
