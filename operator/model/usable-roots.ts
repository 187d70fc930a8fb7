import type { ExtraRoots, NamedRoot, UnusableRoot } from "../../runtime/extra-roots.ts";
import { isAnswerOfProbe, rootsVersion } from "../xds/roots-version.ts";
import type { SecretContent } from "../xds/secret.ts";

/** Name of the secret with the roots for servers whose Model names none. */
export const SYSTEM_ROOTS = "roots/system";

export interface TrustedRoots {
  /** Public authorities, in PEM. */
  pem: string;
  /** The administrator's own. */
  extra: ExtraRoots;
}

export interface UsableRoots {
  content: Extract<SecretContent, { kind: "roots" }>;
  unusable: readonly UnusableRoot[];
  /** Rejected contents that this result is based on. */
  rejectedVersions: readonly string[];
}

/**
 * The roots without those that an Envoy cannot read. It rejects all of them together without naming one. Then it gets probes, which
 * it never uses: halves, until the faulty ones are known (docs/decisions/0094).
 * @param rejected what Envoys have rejected, with their messages.
 * @param mayProbe if not, what is not known to be readable is left out.
 */
export function usableRoots(
  { pem, extra }: TrustedRoots,
  { rejected, mayProbe }: { rejected: ReadonlyMap<string, string>; mayProbe: boolean },
): UsableRoots {
  const unusable = [...extra.unusable];
  const whole = { kind: "roots", pem: joined([{ pem }, ...extra.usable]) } as const;
  if (!rejected.has(rootsVersion(SYSTEM_ROOTS, whole))) return { content: whole, unusable, rejectedVersions: [] };

  const rejectedVersions = [rootsVersion(SYSTEM_ROOTS, whole)];
  const unknown: UsableRoots["content"][] = [];
  function readableOf(roots: readonly NamedRoot[]): readonly NamedRoot[] {
    const [first] = roots;
    if (first === undefined) return [];
    const probe = { kind: "roots", pem: joined(roots), isProbe: true } as const;
    const version = rootsVersion(SYSTEM_ROOTS, probe);
    const answer = rejected.get(version);
    if (answer === undefined) {
      unknown.push(probe);
      return [];
    }
    rejectedVersions.push(version);
    if (isAnswerOfProbe(answer)) return roots;
    if (roots.length === 1) {
      unusable.push({ name: first.name, why: `Envoy rejects it: ${answer.replace(`${SYSTEM_ROOTS}: `, "")}` });
      return [];
    }
    const middle = Math.ceil(roots.length / 2);
    return [...readableOf(roots.slice(0, middle)), ...readableOf(roots.slice(middle))];
  }

  const readable = readableOf(extra.usable);
  const [probe] = unknown;
  const content = mayProbe && probe !== undefined ? probe : ({ kind: "roots", pem: joined([{ pem }, ...readable]) } as const);
  return { content, unusable, rejectedVersions };
}

function joined(roots: readonly { pem: string }[]): string {
  return roots.map(({ pem }) => pem).join("\n");
}
