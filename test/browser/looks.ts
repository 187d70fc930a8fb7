import { inject } from "vitest";
import type { Device, Scheme } from "./harness-visit.ts";

export interface Look {
  device: Device;
  scheme: Scheme;
}

/** Each device once and each theme once; at night every device in every theme. */
export function looks(): Look[] {
  const some: Look[] = [
    { device: "desktop", scheme: "light" },
    { device: "phone", scheme: "dark" },
  ];
  return inject("isNight") ? [...some, { device: "desktop", scheme: "dark" }, { device: "phone", scheme: "light" }] : some;
}
