import type { ModelStatus } from "../../model/status.ts";
import { encodeConditions, readConditions, summarise, type WantedCondition } from "../../kube/conditions.ts";
import type { KubeObject } from "../../kube/object.ts";

export interface ModelStatusInput {
  object: KubeObject;
  status: ModelStatus;
  /** Of Envoy's configuration. */
  version: string;
  nowMs: number;
  /** Who manages it. */
  managed: WantedCondition;
}

/** A Model's conditions with their summary. */
export function wantedConditions({ conditions }: ModelStatus): WantedCondition[] {
  const decisive = conditions.filter(({ isPartial }) => isPartial !== true);
  return [summarise(decisive, { reason: "Ready", message: "clients can use the Model" }), ...conditions];
}

/** The status in the format of `modelStatusSchema`. */
export function encodeModelStatus({ object, status, version, nowMs, managed }: ModelStatusInput): object {
  const { generation } = object.metadata;
  const before = readConditions(object["status"]);
  const ready = status.backends.filter(({ isReady }) => isReady).length;
  const isProgrammed = status.conditions.some(({ type, isTrue }) => type === "Programmed" && isTrue);
  const backends = status.backends.map(({ name, isReady, message }) => ({
    name,
    ready: isReady,
    ...(isReady ? {} : { message }),
  }));
  return {
    observedGeneration: generation,
    ...(backends.length === 0 ? {} : { backendsSummary: `${ready}/${backends.length}`, backends }),
    ...(isProgrammed ? { configVersion: version } : {}),
    ...(status.names === undefined ? {} : { names: [...status.names] }),
    conditions: encodeConditions({ wanted: [...wantedConditions(status), managed], before, generation, nowMs }),
  };
}
