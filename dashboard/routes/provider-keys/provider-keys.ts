import type { FastifyInstance, FastifyRequest } from "fastify";
import { readOffers } from "../../../ledger/provider-keys/offers.ts";
import {
  deleteProviderKey,
  findProviderKey,
  listProviderKeys,
  setFallback,
  setProviderKey,
  type ProviderKeyActor,
} from "../../../ledger/provider-keys/provider-keys.ts";
import { readSealing } from "../../../ledger/provider-keys/sealing.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { providerKeyForm } from "../../provider-keys/provider-key-form.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmProviderKeyPage, PROVIDER_KEYS_PATH, providerKeysPage } from "../../views/provider-keys/provider-keys.ts";

type ProviderRequest = FastifyRequest<{ Params: { provider: string } }>;

/** The account's own keys for providers (S59). */
export function providerKeyRoutes(app: FastifyInstance, { database, pepper }: AppDeps): void {
  async function render(visitor: Member, form: FormState = EMPTY_FORM): Promise<string> {
    const [keys, offers, sealing] = await Promise.all([
      listProviderKeys(database, visitor.membership.accountId),
      readOffers(database),
      readSealing(database, pepper),
    ]);
    return providerKeysPage({ visitor, keys, offers: sealing === undefined ? [] : offers, form });
  }

  app.get(PROVIDER_KEYS_PATH, async (request, reply) => sendPage(reply, await render(memberOf(request))));

  app.post(PROVIDER_KEYS_PATH, async (request, reply) => {
    const visitor = memberOf(request, "manageProviderKeys");
    const values = readForm(request);
    let entered = "";
    const form = await submitForm(values, async () => {
      const { provider: destination, secret } = providerKeyForm.parse(values);
      const key = await setProviderKey(database, actorOf(visitor), { ...destination, value: secret, pepper });
      entered = key.provider;
    });
    if (form !== undefined) return refuseForm(reply, await render(visitor, form), { form });
    return goTo(reply, PROVIDER_KEYS_PATH, `Key for ${entered} saved. It takes effect within seconds.`);
  });

  app.post(`${PROVIDER_KEYS_PATH}/:provider/fallback`, async (request: ProviderRequest, reply) => {
    const visitor = memberOf(request, "manageProviderKeys");
    const fallsBack = readForm(request)["fallback"] === "on";
    const { provider } = await setFallback(database, actorOf(visitor), { provider: request.params.provider, fallsBack });
    const words = fallsBack
      ? "are sent at the models' prices while the key cannot be used"
      : "are refused while the key cannot be used";
    return goTo(reply, PROVIDER_KEYS_PATH, `Requests to ${provider} ${words}.`);
  });

  app.get(`${PROVIDER_KEYS_PATH}/:provider/delete`, async (request: ProviderRequest, reply) => {
    const visitor = memberOf(request, "manageProviderKeys");
    const { accountId } = visitor.membership;
    const key = await findProviderKey(database, { accountId, provider: request.params.provider });
    return sendPage(reply, confirmProviderKeyPage({ visitor, key }));
  });

  app.post(`${PROVIDER_KEYS_PATH}/:provider/delete`, async (request: ProviderRequest, reply) => {
    const visitor = memberOf(request, "manageProviderKeys");
    const { provider } = await deleteProviderKey(database, actorOf(visitor), request.params.provider);
    return goTo(reply, PROVIDER_KEYS_PATH, `Key for ${provider} deleted.`);
  });
}

function actorOf({ membership, person }: Member): ProviderKeyActor {
  return { accountId: membership.accountId, personId: person.id, tokenId: null };
}
