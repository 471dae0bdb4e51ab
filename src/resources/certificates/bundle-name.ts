import {subdomainName, type NameProblems} from '#src/resources/validation/names.js';

/**
 * Validates the name of a trust bundle. One of a signer has the signer's name as prefix, so that permissions can be
 * derived from the name.
 */
export const bundleNameProblems =
  (signer: string): NameProblems =>
  (name, prefix) => {
    if (!signer)
      return name.includes(':') ? ['ClusterTrustBundle without signer name must not have ":" in its name'] : subdomainName(name, prefix);
    const start = `${signer.replaceAll('/', ':')}:`;
    if (!name.startsWith(start)) return [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${start}`];
    return subdomainName(name.slice(start.length), prefix);
  };
