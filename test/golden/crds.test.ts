import { expect, test } from "vitest";
import { API_KEY_DEFINITION } from "../../operator/apikey/definition.ts";
import { renderDefinition } from "../../operator/crd/definition.ts";
import { MODEL_DEFINITION } from "../../operator/model/definition.ts";

test.for([MODEL_DEFINITION, API_KEY_DEFINITION])(
  "crds/$plural.yaml is made from the schemas that $kind is parsed with",
  async (definition) => {
    await expect(renderDefinition(definition)).toMatchFileSnapshot(`../../crds/${definition.plural}.yaml`);
  },
);
