import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';

/** Puts one object's content into another, which others hold; so they do its metadata. */
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
