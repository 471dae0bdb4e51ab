// For which present images a pod has to prove that it may pull them. Pure.

import {repositoryName} from '#src/model/pod/image-name.js';

/** `isPulled`: whether the agent has pulled the image or is pulling it. */
export type NeedsVerification = (image: string, isPulled: boolean) => boolean;

export const verificationPolicies = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'] as const;

/** A repository, or a prefix of repositories. */
interface ImagePattern {
  readonly text: string;
  readonly isPrefix: boolean;
}

/** Parses a pattern of the preloaded image allowlist. Throws for an invalid one. */
const parsePattern = (pattern: string): ImagePattern => {
  if (pattern !== pattern.trim()) throw new Error(`leading/trailing spaces are not allowed: ${pattern}`);
  const isPrefix = pattern.endsWith('/*');
  const text = isPrefix ? pattern.slice(0, -1) : pattern;
  if (text === '') throw new Error(`the supplied pattern is too short: ${pattern}`);
  if (text.includes('*')) throw new Error(`not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`);
  if (isPrefix) {
    if (text === '/') throw new Error('at least registry hostname is required');
    return {text, isPrefix};
  }
  const repository = repositoryName(text);
  if (repository === undefined) throw new Error('failed to parse as an image name: invalid reference format');
  if (repository !== text) throw new Error(`neither tag nor digest is accepted in an image reference: ${pattern}`);
  return {text, isPrefix};
};

/** Throws for an allowlist with an invalid pattern. */
export const checkAllowlist = (patterns: readonly string[]): void => {
  for (const pattern of patterns) parsePattern(pattern);
};

/** Returns the decision of a policy. Throws for an unknown policy or an invalid pattern. */
export const verificationOf = (policy: string, allowlist: readonly string[]): NeedsVerification => {
  switch (policy as (typeof verificationPolicies)[number]) {
    case 'NeverVerify':
      return () => false;
    case 'NeverVerifyPreloadedImages':
      return (_, isPulled) => isPulled;
    case 'AlwaysVerify':
      return () => true;
    case 'NeverVerifyAllowlistedImages': {
      const patterns = allowlist.map(parsePattern);
      const names = new Set(patterns.flatMap(({text, isPrefix}) => (isPrefix ? [] : [text])));
      const prefixes = patterns.flatMap(({text, isPrefix}) => (isPrefix ? [text] : []));
      return image => {
        const repository = repositoryName(image);
        return repository === undefined || !(names.has(repository) || prefixes.some(prefix => repository.startsWith(prefix)));
      };
    }
  }
  throw new Error(`unknown image pull credential verification policy: ${policy}`);
};
