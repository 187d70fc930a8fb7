import { expect, test } from "vitest";
import { API_KEY_DEFINITION } from "../../operator/apikey/definition.ts";
import { renderDefinition } from "../../operator/crd/definition.ts";
import { MODEL_DEFINITION } from "../../operator/model/definition.ts";

test.for([MODEL_DEFINITION, API_KEY_DEFINITION])(
  "the definition of $kind in crds/ is made from the schemas that parse it",
  async (definition) => {
    await expect(renderDefinition(definition)).toMatchFileSnapshot(`../../crds/${definition.plural}.yaml`);
  },
);
