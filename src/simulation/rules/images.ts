import {createHash} from 'node:crypto';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const hasHost = (first: string): boolean => first.includes('.') || first.includes(':') || first === 'localhost';

/** Returns the full name of an image: with registry, and with a tag if it has neither tag nor digest. */
export const fullName = (image: string): string => {
  const slash = image.indexOf('/');
  const names = slash >= 0 && hasHost(image.slice(0, slash)) ? image : `docker.io/${slash < 0 ? 'library/' : ''}${image}`;
  return isTagged(names) || names.includes('@') ? names : `${names}:latest`;
};

const part = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const reference = new RegExp(
  `^(?:[A-Za-z0-9.-]+(?::\\d+)?/)?${part}(?:/${part})*(?::[\\w][\\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,})?$`,
);

/** Whether the image name is valid. */
export const isReference = (image: string): boolean => reference.test(image);

/** Whether a name that begins with a registry has a tag. */
const isTagged = (name: string): boolean => name.lastIndexOf(':') > name.lastIndexOf('/');

/**
 * Image names that tests use for missing images: with the tag 404, with `non-existent` anywhere, or with `invalid` as a
 * part.
 */
const missingName = /:404$|non-existent|(^|[./])invalid(?=[./:@]|$)/;

/** Returns why an image with this name cannot be pulled; undefined if it can. */
export const missingImageError = (image: string): string | undefined => {
  if (!missingName.test(image)) return undefined;
  const name = fullName(image);
  return `rpc error: code = NotFound desc = failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`;
};

/** Values derived from an image name. */
interface Derived {
  readonly id: string;
  readonly bytes: number;
}

const derivedCache = new Lru<string, Derived>(new CacheBound('image_ids', 2 << 20), {
  bytesOf: ({id}, image) => 150 + id.length + image.length,
});

const derived = (image: string): Derived => {
  let known = derivedCache.get(image);
  if (!known) derivedCache.set(image, (known = derive(image)));
  return known;
};

const derive = (image: string): Derived => {
  const full = fullName(image);
  const [name = ''] = full.split('@');
  const ofName = digest(full);
  const ofImage = image.includes('@') ? (image.split('@')[1] ?? '').replace(/^sha256:/, '') : ofName;
  return {
    id: `${name.replace(/:[^/:]*$/, '')}@sha256:${ofImage}`,
    bytes: 2_000_000 + (Number.parseInt(ofName.slice(0, 8), 16) % 198_000_000),
  };
};

/** Returns the digest reference of an image in the simulated runtime. */
export const imageId = (image: string): string => derived(image).id;

const bound = new CacheBound('image_names', 2 << 20);
const nameCache = new Lru<string, readonly string[]>(bound, {bytesOf: names => names.reduce((bytes, {length}) => bytes + 50 + length, 0)});

/**
 * Returns all names by which a rule may match an image: as in the spec, in full and short form, by tag and by digest,
 * and by the reported digest.
 */
export const imageNames = (image: string): readonly string[] => {
  let names = nameCache.get(image);
  if (!names) nameCache.set(image, (names = allNames(image)));
  return names;
};

const allNames = (image: string): readonly string[] => {
  const full = fullName(image);
  const id = imageId(image);
  const [tagged = ''] = full.split('@');
  const names = [full, id, ...(tagged === full || isTagged(tagged) ? [tagged] : [])];
  return [...new Set([image, id.slice(id.indexOf('@') + 1), ...names.flatMap(name => [name, shortName(name)])])];
};

/** Removes the default registry from a name. */
const shortName = (name: string): string => name.replace(/^docker\.io\/(library\/)?/, '');

/** Returns the simulated size of an image: between 2 and 200 MB, constant for a name. */
export const imageBytes = (image: string): number => derived(image).bytes;

/** Returns the id of one run of a container. */
export const containerId = (uid: string, name: string, restarts: number): string => `simulated://${digest(`${uid}/${name}/${restarts}`)}`;
