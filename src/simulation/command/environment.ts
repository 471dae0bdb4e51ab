import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {expand, longestValues} from '#src/model/pod/expansion.js';
import {podFieldValue} from '#src/model/pod/field-values.js';

/** Environment values by name; undefined for values that depend on other objects or the node. */
export type Values = ReadonlyMap<string, string | undefined>;

/**
 * Returns the environment of a container, as far as the pod spec determines it. Values that exceed the size limit of a
 * program's environment are undefined.
 */
export const environment = (pod: Frozen<Pod>, {env = []}: Frozen<AnyContainer>): Values => {
  const values = new Map<string, string | undefined>();
  let length = 0;
  for (const {name, value, valueFrom} of env) {
    const text = valueFrom
      ? valueFrom.fieldRef
        ? podFieldValue(pod, valueFrom.fieldRef.fieldPath)
        : undefined
      : expand(value ?? '', other => (values.has(other) ? values.get(other) : `$(${other})`));
    length += text?.length ?? 0;
    values.set(name, length > longestValues ? undefined : text);
  }
  return values;
};
