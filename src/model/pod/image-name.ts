const piece = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const host = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${host}(?:\\.${host})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const tag = '\\w[\\w.-]{0,127}';
const digest = '@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^(?<domain>${domain})/(?<path>${piece}(?:/${piece})*)(?::(?<tag>${tag}))?(?<digest>${digest})?$`);
const knownDigest = /^@(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$/;
const identifier = /^[a-f0-9]{64}$/;
const maxPathLength = 255;

/** The registry and the repository of image names that do not state them. */
const defaultDomain = 'docker.io';
const officialRepository = 'library/';

/**
 * Adds the default registry to an image name. The part before the first slash is a registry if it has a dot, a colon or
 * an upper-case letter, or is localhost.
 */
const withDefaultDomain = (image: string): string => {
  const slash = image.indexOf('/');
  if (slash < 0) return `${defaultDomain}/${officialRepository}${image}`;
  const [first, rest] = [image.slice(0, slash), image.slice(slash + 1)];
  const isDomain = first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first;
  if (!isDomain) return `${defaultDomain}/${image}`;
  const isUsual = first === defaultDomain || first === `index.${defaultDomain}`;
  return isUsual ? `${defaultDomain}/${rest.includes('/') ? '' : officialRepository}${rest}` : image;
};

/** Returns the parts of an image name; undefined for an invalid one. */
const partsOf = (image: string): Readonly<Record<string, string | undefined>> | undefined => {
  const found = identifier.test(image) ? undefined : reference.exec(withDefaultDomain(image))?.groups;
  return found && found['path']!.length <= maxPathLength && (!found['digest'] || knownDigest.test(found['digest'])) ? found : undefined;
};

/** Whether an image is pulled by the tag `latest`. False for images with a digest and for invalid names. */
export const usesLatestTag = (image: string): boolean => {
  const found = partsOf(image);
  return found !== undefined && (found['tag'] ?? (found['digest'] ? '' : 'latest')) === 'latest';
};

/** Whether an image name is valid. */
export const isImageName = (image: string): boolean => partsOf(image) !== undefined;

/** Returns a valid name with the tag `latest` if it has neither tag nor digest. */
export const withDefaultTag = (image: string): string => {
  const {tag: given, digest: of} = partsOf(image) ?? {};
  return given || of ? image : `${image}:latest`;
};

/** Returns the registry and the path of an image name without tag and digest; undefined for an invalid one. */
export const repositoryName = (image: string): string | undefined => {
  const found = partsOf(image);
  return found && `${found['domain']}/${found['path']}`;
};

/**
 * Returns an image name with its registry and its tag or digest, as a runtime lists it; undefined for an invalid one.
 */
export const fullName = (image: string): string | undefined => {
  const found = partsOf(withDefaultTag(image));
  return found && `${found['domain']}/${found['path']}${found['digest'] ?? `:${found['tag']}`}`;
};
