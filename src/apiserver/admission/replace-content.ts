import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';

/** Replaces the content of an object and of its metadata in place, since others refer to them. */
export const replaceContent = (object: KubeObject, content: KubeObject): void => {
  const {metadata} = object;
  replaceFields(object as PlainObject, content as PlainObject);
  if (metadata) object.metadata = replaceFields(metadata as PlainObject, (content.metadata ?? {}) as PlainObject);
};

const replaceFields = <T extends PlainObject>(target: T, content: PlainObject): T => {
  if (target === content) return target;
  for (const key of Object.keys(target)) if (!Object.hasOwn(content, key)) delete target[key];
  return Object.assign(target, content);
};
