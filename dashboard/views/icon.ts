import { html } from "ghtml";

/** Outlines in a square of 24. */
const PATHS = {
  overview: "M4 11 12 4l8 7v8a1 1 0 0 1-1 1h-4v-6H9v6H5a1 1 0 0 1-1-1z",
  playground: "M5 4v16l14-8z",
  keys: "M14.5 9.5a4.5 4.5 0 1 0-4 4.47L12 12.5h2.5V10M14.5 9.5 20 4M17 7l2 2",
  projects: "M3 6a1 1 0 0 1 1-1h5l2 3h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z",
  usage: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  logs: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  batches: "M12 3l9 4.5-9 4.5-9-4.5zM3 12l9 4.5 9-4.5M3 16.5 12 21l9-4.5",
  credit: "M3 7a2 2 0 0 1 2-2h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zM3 10h18M7 15h3",
  billing: "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6",
  budgets: "M12 21a9 9 0 1 1 9-9M12 7v5l3 3M18 15v6M15 18h6",
  limits: "M4 18a8.5 8.5 0 1 1 16 0M12 15l4-6M12 16.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z",
  models: "M12 3 20 7.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  tools: "M5 7l5 5-5 5M12 17h7",
  docs: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7",
  members: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21a7 7 0 0 1 14 0M16 4a4 4 0 0 1 0 7M18 14a7 7 0 0 1 4 7",
  tokens: "M8 4C5 4 5 6 5 8s0 3-2 4c2 1 2 2 2 4s0 4 3 4M16 4c3 0 3 2 3 4s0 3 2 4c-2 1-2 2-2 4s0 4-3 4",
  webhooks:
    "M12 8a2.5 2.5 0 1 0-2.2-1.3L6 13.5M6 19a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8.5 16.5h7M18 19a2.5 2.5 0 1 0-1.9-4.1L12 8",
  traces: "M3 5h10M3 5v14M7 10h10M7 10v6M11 16h10",
  settings:
    "M4 7h10M18 7h2M4 17h2M10 17h10M16 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  admin: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z",
  menu: "M4 6h16M4 12h16M4 18h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0",
  chevron: "M7 10l5 5 5-5",
  system: "M4 5h16v11H4zM9 20h6",
  light:
    "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative drawing next to words. */
export function icon(name: IconName): string {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${PATHS[name]}" /></svg>`;
}
