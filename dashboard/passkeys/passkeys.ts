import { parse as parseUuid } from "uuid";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { addPasskey, findPasskey, listPasskeys, usePasskey, type Passkey } from "../../ledger/sign-in/passkeys.ts";
import type { Person } from "../../ledger/people/persons.ts";
import { signedNote } from "../session/signed-note.ts";
import { readAuthentication, readRegistration } from "./credential.ts";
import type { RelyingParty } from "./relying-party.ts";

/** ES256, EdDSA and RS256: the algorithms of common authenticators. */
const ALGORITHMS = [-7, -8, -257];
const ANSWER_WITHIN_MS = 10 * 60_000;

/** Three hundred modules, for the first who uses a passkey: the other processes start in less time and memory. */
const loadWebAuthn = () => import("@simplewebauthn/server");

/** What a page's script gives to the browser, and what its form returns along with the browser's answer. */
export interface PasskeyChallenge {
  /** JSON for `navigator.credentials`. */
  options: string;
  /** Proves that the challenge is ours, and its purpose and person. */
  note: string;
}

interface PasskeyAnswer {
  note: string;
  /** JSON of the browser's credential. */
  credential: string;
}

/**
 * Passkeys with WebAuthn. The authenticator must have verified its person, by a PIN or a fingerprint: a passkey alone is two
 * factors, and signs in.
 */
export interface Passkeys {
  offer(person: Person): Promise<PasskeyChallenge>;
  /**
   * @returns recovery codes with the first factor; null if the person has them.
   * @throws GatewayError `invalid_request`.
   */
  register(person: Person, answer: PasskeyAnswer & { name: string }): Promise<string[] | null>;
  /** @param personId whose passkeys count; null: anybody's, and the page does not reveal whose exist. */
  ask(personId: string | null): Promise<PasskeyChallenge>;
  /**
   * An answer counts once.
   * @throws GatewayError `permission_denied` for an unknown passkey, another person's, or one whose verification fails.
   */
  check(answer: PasskeyAnswer): Promise<Passkey>;
}

export function createPasskeys(
  { id: rpID, origin }: RelyingParty,
  { database, pepper }: { database: Database; pepper: Buffer },
): Passkeys {
  const noteSchema = z.strictObject({ challenge: z.string(), personId: z.uuid().nullable(), untilMs: z.int() });
  const notesFor = (purpose: string) => signedNote(noteSchema, { purpose, pepper, forMs: ANSWER_WITHIN_MS });
  const registrations = notesFor("passkey to be registered");
  const assertions = notesFor("passkey to be used");
  const untilMs = () => Date.now() + ANSWER_WITHIN_MS;

  return {
    async offer({ id, email, name }) {
      const { generateRegistrationOptions } = await loadWebAuthn();
      const known = await listPasskeys(database, id);
      const options = await generateRegistrationOptions({
        rpName: "Model Gateway",
        rpID,
        userID: Uint8Array.from(parseUuid(id)),
        userName: email,
        userDisplayName: name,
        attestationType: "none",
        supportedAlgorithmIDs: ALGORITHMS,
        excludeCredentials: known.map(describe),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
      const note = registrations.write({ challenge: options.challenge, personId: id, untilMs: untilMs() });
      return { options: JSON.stringify(options), note };
    },

    async register(person, { note, credential, name }) {
      const begun = registrations.read(note);
      if (begun?.personId !== person.id) throw tooLate();
      const { response, transports } = readRegistration(credential);
      const { verifyRegistrationResponse } = await loadWebAuthn();
      const made = await verifying(async () => {
        await refuseCertificates(response.response.attestationObject);
        return verifyRegistrationResponse({
          response,
          expectedChallenge: begun.challenge,
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: true,
          supportedAlgorithmIDs: ALGORITHMS,
        });
      });
      if (!made.verified) throw notAccepted();
      const { id, publicKey, counter } = made.registrationInfo.credential;
      return addPasskey(database, {
        personId: person.id,
        credentialId: Buffer.from(id, "base64url"),
        publicKey: Buffer.from(publicKey),
        signCount: counter,
        transports,
        name,
      });
    },

    async ask(personId) {
      const { generateAuthenticationOptions } = await loadWebAuthn();
      const known = personId === null ? [] : await listPasskeys(database, personId);
      const options = await generateAuthenticationOptions({
        rpID,
        allowCredentials: known.map(describe),
        userVerification: "required",
      });
      const note = assertions.write({ challenge: options.challenge, personId, untilMs: untilMs() });
      return { options: JSON.stringify(options), note };
    },

    async check({ note, credential }) {
      const begun = assertions.read(note);
      if (begun === undefined) throw tooLate();
      const { personId } = begun;
      const { response, userHandle } = readAuthentication(credential);
      const passkey = await findPasskey(database, Buffer.from(response.rawId, "base64url"));
      if (passkey === undefined || (personId !== null && passkey.personId !== personId)) throw unknownPasskey();
      // If no person was named, the authenticator must name one (WebAuthn, 7.2).
      const isOwners = userHandle === null ? personId !== null : userHandle.equals(parseUuid(passkey.personId));
      if (!isOwners) throw unknownPasskey();
      const { verifyAuthenticationResponse } = await loadWebAuthn();
      const used = await verifying(() =>
        verifyAuthenticationResponse({
          response,
          expectedChallenge: begun.challenge,
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: true,
          credential: {
            id: passkey.credentialId.toString("base64url"),
            publicKey: Uint8Array.from(passkey.publicKey),
            counter: passkey.signCount,
          },
        }),
      );
      if (!used.verified) throw notAccepted();
      const { newCounter } = used.authenticationInfo;
      const expiresAt = new Date(begun.untilMs);
      if (!(await usePasskey(database, { id: passkey.id, signCount: newCounter, challenge: begun.challenge, expiresAt })))
        throw notAccepted();
      return passkey;
    },
  };
}

function describe({ credentialId, transports }: Passkey): { id: string; transports: string[] } {
  return { id: credentialId.toString("base64url"), transports: [...transports] };
}

/** We do not request attestation. The library would check certificates, and might download revocation lists. */
async function refuseCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const statement = decodeAttestationObject(Uint8Array.from(Buffer.from(attestationObject, "base64url"))).get("attStmt");
  if (statement.get("x5c") !== undefined) throw new Error("an attestation that nobody asked for");
}

/** Every error of the library is the sender's. */
async function verifying<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    throw notAccepted(error);
  }
}

function tooLate(): GatewayError {
  return new GatewayError("invalid_request", "This page has expired. Reload it, and use your passkey again.");
}

export function unknownPasskey(): GatewayError {
  return new GatewayError(
    "permission_denied",
    "This passkey is not registered here: it was removed, or belongs to someone else. Choose another one, or sign in another way.",
  );
}

function notAccepted(cause?: unknown): GatewayError {
  return new GatewayError(
    "permission_denied",
    "This passkey was not accepted. Reload the page and try again; your device must ask for its PIN, your fingerprint or your face.",
    { cause },
  );
}
