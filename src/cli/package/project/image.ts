/** The parts of an image's reference. */
export interface ImageReference {
  readonly repository: string;
  /** Empty if there is none. */
  readonly tag: string;
  /** Such as `sha256:…`; empty if there is none. */
  readonly digest: string;
}

const pattern = /^[A-Za-z0-9][\w./:@-]*$/;

/** Returns the parts of a reference. Throws an error of one line for what can be none. */
export const imageReference = (text: string, place: string): ImageReference => {
  const [named = '', digest = '', ...more] = text.split('@');
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const [repository, tag] = colon < 0 ? [named, ''] : [named.slice(0, colon), named.slice(colon + 1)];
  const isComplete = pattern.test(text) && repository !== '' && !text.endsWith(':') && !text.endsWith('@') && !tag.includes(':');
  if (!isComplete || more.length > 0 || (digest !== '' && !/^[a-z0-9]+:[0-9a-f]{32,}$/.test(digest)))
    throw new Error(`${place} must be an image such as registry.example.com/backups:1.2.3, not ${JSON.stringify(text)}`);
  return {repository, tag, digest};
};

/** Returns the text of a reference. */
export const imageText = ({repository, tag, digest}: ImageReference): string =>
  `${repository}${tag ? `:${tag}` : ''}${digest ? `@${digest}` : ''}`;

/** Returns a reference with the tag of a version if it says neither a tag nor a digest. A tag cannot have `+`. */
export const withVersion = (image: ImageReference, version: string): ImageReference =>
  image.tag || image.digest ? image : {...image, tag: version.replaceAll('+', '-')};
